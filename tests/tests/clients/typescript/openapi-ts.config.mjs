// How @hey-api/openapi-ts is run: its imports name files, as modules of Node do.
export default { input: "openapi.json", output: { path: "hey-api", module: { extension: ".js" } } };
