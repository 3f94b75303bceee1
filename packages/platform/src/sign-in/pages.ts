// HTML pages of sign-in: without scripts, and safe from framing, caching and injection.

import { createHash } from "node:crypto";
import type { ApiResponse, ResponseHeaders } from "@postern/apiserver/transport/api-response";

/** HTML that is inserted unchanged. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Strings among the values are escaped, HTML is not. */
export const html = (parts: TemplateStringsArray, ...values: readonly (string | Html | readonly Html[])[]): Html =>
  new Html(parts.reduce((text, part, at) => `${text}${textOf(values[at - 1] ?? "")}${part}`));

const textOf = (value: string | Html | readonly Html[]): string => {
  if (typeof value === "string") return escapeHtml(value);
  return value instanceof Html ? value.text : value.map(({ text }) => text).join("");
};

const ESCAPES: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? "");

const STYLE = `:root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}body{margin:0}main{max-width:40rem;margin:3rem auto;padding:0 1rem}h1{font-size:1.4rem}ul.choices{list-style:none;padding:0}.choices a,button{display:inline-block;font:inherit;padding:.6rem 1rem;margin:.3rem .3rem .3rem 0;border:1px solid;border-radius:.4rem;color:inherit;background:none;text-decoration:none;cursor:pointer}input{font:inherit;padding:.5rem;width:100%;max-width:24rem;box-sizing:border-box;display:block;margin:.3rem 0}.keys{list-style:none;padding:0}.keys li{display:flex;flex-wrap:wrap;gap:.3rem 1rem;align-items:center;justify-content:space-between;padding:.6rem 0;border-bottom:1px solid}.keys div{min-width:0;overflow-wrap:anywhere}code{overflow-wrap:anywhere}.note{border-left:.25rem solid;padding-left:.8rem}`;
const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");

export type PageOptions = {
  readonly status?: number;
  /** Where the browser continues automatically, on this server. */
  readonly next?: string;
  /** Origins besides this server that a form of the page may redirect to. */
  readonly formTargets?: readonly string[];
  readonly headers?: ResponseHeaders;
};

export function pageResponse(title: string, body: Html, options: PageOptions = {}): ApiResponse {
  const { status = 200, next, formTargets = [], headers = {} } = options;
  const refresh = next === undefined ? new Html("") : html`<meta http-equiv="refresh" content="${`0;url=${next}`}">`;
  const document = html`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">${refresh}<title>${title}</title><style>${new Html(STYLE)}</style></head>
<body><main><h1>${title}</h1>
${body}
</main></body></html>
`;
  return {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": [
        "default-src 'none'",
        `style-src 'sha256-${STYLE_HASH}'`,
        ["form-action 'self'", ...formTargets].join(" "),
        "base-uri 'none'",
        "frame-ancestors 'none'",
      ].join("; "),
      ...SECURE,
      ...headers,
    },
    body: { type: "bytes", bytes: document.text },
  };
}

/** Sends the Origin of a form only to this server, and addresses with a code to nobody. */
const SECURE: ResponseHeaders = {
  "cache-control": "no-store",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
};

/** Redirects after a POST, with GET. */
export const redirectResponse = (location: string, headers: ResponseHeaders = {}): ApiResponse => ({
  status: 303,
  headers: { location, ...SECURE, "referrer-policy": "no-referrer", ...headers },
  body: { type: "bytes", bytes: "" },
});
