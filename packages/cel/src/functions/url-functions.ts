// Functions of URLs.
// Source: k8s.io/apiserver/pkg/cel/library/urls.go

import { escapedPath, hostnameOf, partsOf, readQuery, readUrl, urlError } from "./cel-url.ts";
import { type CelOverload, celFunction, celMethod } from "./overload.ts";

export const urlFunctions: readonly CelOverload[] = [
  celFunction("isURL", ["string"], "bool", (text) => urlError(text) === undefined),
  celFunction("url", ["string"], "url", readUrl),
  celMethod("getScheme", ["url"], "string", (url) => partsOf(url).scheme),
  celMethod("getHost", ["url"], "string", (url) => partsOf(url).host),
  celMethod("getHostname", ["url"], "string", (url) => hostnameOf(partsOf(url).host)),
  celMethod("getPort", ["url"], "string", (url) => /:(\d*)$/.exec(partsOf(url).host)?.[1] ?? ""),
  celMethod("getEscapedPath", ["url"], "string", (url) => escapedPath(partsOf(url).path)),
  celMethod("getQuery", ["url"], "map<string, list<string>>", (url) => readQuery(partsOf(url).query)),
];
