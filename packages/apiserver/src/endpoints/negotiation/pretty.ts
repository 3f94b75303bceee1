// Decides whether an answer is printed for people, and indents JSON text without parsing it.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/negotiation/negotiate.go

import { type ApiRequest, headerOf } from "../../transport/api-request.ts";

const TRUE = new Set(["1", "t", "T", "TRUE", "true", "True"]);
const TERMINAL_CLIENTS = ["curl", "Wget", "Mozilla/5.0"];

/** `?pretty=` decides where it is given; otherwise tools that print what they receive get indented JSON. */
export function wantsPretty(request: Pick<ApiRequest, "query" | "headers">): boolean {
  const parameter = request.query.get("pretty") ?? "";
  if (parameter !== "") return TRUE.has(parameter);
  const userAgent = headerOf(request, "user-agent");
  return TERMINAL_CLIENTS.some((client) => userAgent.startsWith(client));
}

const INDENT = "  ";
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * Compact or loose JSON text, two spaces per level, numbers untouched. `depth` is the level that the text stands at:
 * its first line is not indented, the others are indented by at least that much.
 */
export function indentJson(text: string, depth = 0): string {
  const out: string[] = [];
  let level = depth;
  let previous = "";
  for (const [token] of text.matchAll(TOKEN)) {
    const closes = token === "}" || token === "]";
    const opened = previous === "{" || previous === "[";
    if (closes) level--;
    if (closes ? !opened : opened || previous === ",") out.push("\n", INDENT.repeat(level));
    out.push(token === ":" ? ": " : token);
    if (token === "{" || token === "[") level++;
    previous = token;
  }
  return out.join("");
}
