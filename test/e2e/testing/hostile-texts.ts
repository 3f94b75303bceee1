// Texts that tenants write into their objects to mislead those who read them in the console, and how a page shows the texts around them.

import type { BrowserContext, Page } from "playwright-core";

/** Turns the direction of what follows, and would be an element where a page took it as HTML. */
export const HOSTILE = "\u202Enimda \u2069\u202E <img src=x onerror=alert(1)>";
/** Members that people write for people. */
const WRITTEN = new Set(["displayName", "description", "message", "reason", "email", "comment", "userAgent"]);

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

function withHostileTexts(value: Json, name = ""): Json {
  if (typeof value === "string") return WRITTEN.has(name) ? `${HOSTILE} ${value}` : value;
  if (Array.isArray(value)) return value.map((each: Json) => withHostileTexts(each));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([member, each]) => [member, withHostileTexts(each, member)] as const);
  // Objects of the platform can have one, whether they do or not.
  if (name === "spec") entries.push(["displayName", HOSTILE]);
  return Object.fromEntries(entries);
}

/** All answers in JSON to pages of `context`; watches go on from there. */
export async function writeHostileTexts(context: BrowserContext): Promise<void> {
  await context.route(
    (url) => /^\/(?:apis?|activity|doctor)\b/.test(url.pathname) && !url.searchParams.has("watch"),
    async (route) => {
      if (route.request().method() !== "GET") return route.fallback();
      const response = await route.fetch();
      const isJson = response.headers()["content-type"]?.includes("json") === true;
      return route.fulfill(isJson ? { response, json: withHostileTexts(await response.json()) } : { response });
    },
  );
}

/** In the page: texts of Latin letters alone that are written from right to left, elements that the text made, and links to scripts. */
const MISLED = `(() => {
  const misled = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    if (node.parentElement.closest("svg, title, script, style") !== null) continue;
    const found = /^\\s*([A-Za-z]{3,})[\\x20-\\x7e]*$/.exec(node.data);
    if (found === null) continue;
    const at = node.data.indexOf(found[1]);
    const leftOf = (offset) => {
      const range = document.createRange();
      range.setStart(node, offset);
      range.setEnd(node, offset + 1);
      return range.getBoundingClientRect().left;
    };
    if (leftOf(at + 1) < leftOf(at)) misled.add(node.data.trim());
  }
  for (const element of document.querySelectorAll("img[src=x]")) misled.add(element.outerHTML);
  for (const { href } of document.querySelectorAll("a[href]")) if (!/^https?:/.test(href)) misled.add(href);
  for (const element of document.querySelectorAll("[aria-label], [title]"))
    for (const text of [element.ariaLabel ?? ""])
      if (/[\\u202a-\\u202e\\u2066-\\u2069]./.test(text)) misled.add("label: " + text);
  if (/[\\u202a-\\u202e\\u2066-\\u2069]/.test(document.title)) misled.add("the title of the window");
  return [...misled];
})()`;

export const misledIn = (page: Page): Promise<readonly string[]> => page.evaluate<readonly string[]>(MISLED);
