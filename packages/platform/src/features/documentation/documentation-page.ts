// A page of the documentation as a document: navigation at the side, contents and article from the build. No scripts.

import { Html, html } from "../sign-in/pages/pages.ts";
import type { DocumentsHead } from "./documentation-build.ts";

export const ROOT = "/docs";
export const STYLE_PATH = `${ROOT}/style.css`;
/** The palette of the console searches it. */
export const INDEX_PATH = `${ROOT}/pages.json`;

const LOGO = new Html(
  '<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" fill="#4f55d8"/><g fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round"><path d="M10 25V13a6 6 0 0 1 12 0v12M16 18v4"/></g><circle cx="16" cy="17" r="2.3" fill="#fff"/></svg>',
);

/** HTML of contents and article, which is inserted as it is. */
export type Page = { readonly title: string; readonly html: string };

export const MISSING: Page = {
  title: "Page not found",
  html: `<article><h1>Page not found</h1><p>The documentation of this server has no such page. <a href="${ROOT}">All pages</a></p></article>`,
};

export function documentOf(
  { title, html: content }: Page,
  address: string,
  navigation: DocumentsHead["navigation"],
): string {
  const groups = navigation.map(
    (group) => html`<h2>${group.title}</h2><ul>
${group.pages.map(
  (
    page,
  ) => html`<li><a href="${page.path}"${new Html(page.path === address ? ' aria-current="page"' : "")}>${page.title}</a></li>
`,
)}</ul>
`,
  );
  return html`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Postern</title><link rel="stylesheet" href="${STYLE_PATH}"></head>
<body><a class="skip" href="#main">Skip to the text</a>
<header class="top"><a class="brand" href="/">${LOGO}Postern</a><a href="${ROOT}">Documentation</a><a class="to-navigation" href="#navigation">All pages</a><a class="to-console" href="/">Console</a></header>
<div class="columns"><main id="main">
${new Html(content)}
</main>
<nav class="navigation" id="navigation" aria-label="Documentation">
${groups}</nav></div></body></html>
`.text;
}
