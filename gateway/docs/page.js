// Shows the OpenAPI document of this gateway and the guides as one page, by Scalar.
"use strict";

{
  // What is styled from within Scalar is in elements that it makes: each gets the nonce of this page.
  const nonce = document.querySelector("meta[property=csp-nonce]").content;
  const createElement = document.createElement;
  document.createElement = function (...described) {
    const element = createElement.apply(this, described);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  };

  // Zod, which is in Scalar, would try out whether it may make functions of text. It may not.
  globalThis.__zod_globalConfig = { jitless: true };

  const read = async (address) => {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(`${address} is answered ${answer.status}`);
    return answer;
  };

  // An example of a header is no value to send: the same Idempotency-Key for every request is refused.
  const withoutExamples = (parameters) => {
    for (const parameter of Object.values(parameters ?? {})) {
      if (parameter.in === "header") delete parameter.example;
    }
  };

  // What Scalar leaves undone for those who see no screen or use no mouse.
  const mend = () => {
    const each = (selector, change) => document.querySelectorAll(selector).forEach(change);
    each("[role=combobox]:not([aria-expanded])", (input) => input.setAttribute("aria-expanded", "false"));
    each("button[role=none]", (button) => button.removeAttribute("role"));
    each(".custom-scroll:not([tabindex]), .markdown table:not([tabindex])", (block) => (block.tabIndex = 0));
    each(".cm-scroller[tabindex='-1']", (block) => (block.tabIndex = 0));
    each(".cm-content:not([aria-label])", (editor) => editor.setAttribute("aria-label", "Body"));
    each("[role=dialog] section[aria-label='Notifications alt+T']", (list) => list.setAttribute("aria-label", "Notifications of the client"));
    each("button[aria-label='Copy code'][aria-controls]", (button) => {
      if (!document.getElementById(button.getAttribute("aria-controls"))) button.removeAttribute("aria-controls");
    });
    // Every operation has example responses: whose they are is a part of their name.
    each(".response-card[aria-labelledby]", (card) => {
      let operation = card;
      while (operation && !/\/(GET|POST|PATCH|DELETE)\//.test(operation.id)) operation = operation.parentElement;
      if (!operation) return;
      card.removeAttribute("aria-labelledby");
      card.setAttribute("aria-label", `Example Responses of ${operation.id.match(/(GET|POST|PATCH|DELETE)\/.*/)[0]}`);
    });
    // While the client is open, it is all there is.
    const client = document.querySelector("[role=dialog] main");
    each("main.references-rendered", (page) => (page.inert = client !== null && !page.contains(client)));
  };

  const show = async () => {
    const guides = [...document.querySelectorAll("#guides a")].map((link) => read(link.href).then((answer) => answer.text()));
    const [document_, ...texts] = await Promise.all([
      read(document.querySelector("#openapi").href).then((answer) => answer.json()),
      ...guides,
    ]);
    withoutExamples(document_.components?.parameters);
    // What everybody comes for stands first.
    const rank = ([path]) => [/^\/people\/search$/, /\/search$/, /\/count$/, /\/explain$/].findIndex((form) => form.test(path)) >>> 0;
    document_.paths = Object.fromEntries(Object.entries(document_.paths).sort((one, other) => rank(one) - rank(other)));
    document_.info.description = [document_.info.description, ...texts].join("\n\n");
    document.querySelector("#reference").replaceChildren();
    new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
    Scalar.createApiReference("#reference", {
      content: document_,
      documentDownloadType: "none",
      defaultOpenAllTags: true,
      hideClientButton: true,
      hideModels: true,
      onLoaded: () => document.querySelector("aside li button[aria-expanded=false]")?.click(),
      persistAuth: false,
      showDeveloperTools: "never",
      authentication: { preferredSecurityScheme: "ApiKeyHeader" },
      // Nothing is asked of anybody but this gateway.
      agent: { disabled: true },
      mcp: { disabled: true },
      telemetry: false,
      withDefaultFonts: false,
    });
  };

  document.addEventListener("DOMContentLoaded", () => {
    show().catch((problem) => {
      console.error(problem);
    });
  });
}
