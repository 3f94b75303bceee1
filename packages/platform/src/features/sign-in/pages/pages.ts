// HTML pages of sign-in: without scripts, and safe from framing, caching and injection.

import { createHash } from "node:crypto";
import type { ApiError } from "@postern/apimachinery/meta/api-error";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { ApiResponse, ResponseHeaders } from "@postern/apiserver/transport/api-response";
import { cookieOf } from "../sessions/cookies-and-origins.ts";
import { LOGIN_PATH, THEME_COOKIE } from "../sign-in-paths.ts";
import { PAGE_STYLE } from "./page-style.ts";

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

/** The console's. */
const LOGO = new Html(
  '<svg class="logo" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" fill="#4f55d8"/><g fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round"><path d="M10 25V13a6 6 0 0 1 12 0v12M16 18v4"/></g><circle cx="16" cy="17" r="2.3" fill="#fff"/></svg>',
);
const STYLE_HASH = createHash("sha256").update(PAGE_STYLE).digest("base64");

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
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">${refresh}<title>${title}</title><style>${new Html(PAGE_STYLE)}</style></head>
<body><main>${LOGO}<h1>${title}</h1>
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

export const failurePage = (status: number, text: string, headers: ResponseHeaders = {}): ApiResponse =>
  pageResponse("Sign-in failed", html`<p>${text}</p><p><a href="${LOGIN_PATH}">Sign in</a></p>`, { status, headers });

const THEMES: readonly (string | undefined)[] = ["light", "dark"];
const PLAIN = '<html lang="en">';

/** The page in the theme that the user chose in the console, which keeps it in a cookie: these pages have no scripts that could read it elsewhere. */
export function inTheme(response: ApiResponse, request: Pick<ApiRequest, "headers">): ApiResponse {
  const { headers, body } = response;
  const theme = cookieOf(request, THEME_COOKIE);
  if (!THEMES.includes(theme) || body.type !== "bytes" || typeof body.bytes !== "string") return response;
  if (!String(headers["content-type"]).startsWith("text/html")) return response;
  const bytes = body.bytes.replace(PLAIN, `<html lang="en" data-theme="${theme}">`);
  return { ...response, body: { type: "bytes", bytes } };
}

/** A refusal in the form of the other pages. */
export const errorPage = (error: ApiError): ApiResponse =>
  failurePage(error.code, `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`);

/** Browsers send the Origin of a form, and addresses that may contain a code, to this server alone. */
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
