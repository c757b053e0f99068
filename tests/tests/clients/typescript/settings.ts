/** What the test that starts these has set. */
const setting = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
};

export const BASE_URL = setting("BASE_URL");
export const API_KEY = setting("API_KEY");
export const JWT = setting("JWT");
/** A key of an account without credits. */
export const POOR_KEY = setting("POOR_KEY");
/** A key of an account that may not search any more today. */
export const SLOW_KEY = setting("SLOW_KEY");
/** A tag that seven companies have. */
export const TAG = setting("TAG");
