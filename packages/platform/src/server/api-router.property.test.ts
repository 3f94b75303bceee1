// Every route of the server, written in other ways: what is authorized and routed is always that of the one canonical path.

import { Readable } from "node:stream";
import { resolveRequest } from "@postern/apiserver/request/request-info";
import { requestOf } from "@postern/apiserver/transport/api-request";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { startPlatform } from "../testing/running-platform.ts";
import { createApiRouter } from "./api-router.ts";
import { featureRoutes } from "./routes.ts";
import { servedRoutes } from "./testing/served-routes.ts";

const CASES = Number(process.env["POSTERN_PROPERTY_CASES"] ?? 5_000);
const SEED = Number(process.env["TEST_SEED"]);

type Seen = { readonly surface: string; readonly refused: boolean; readonly asked: unknown };

/** Anything that a feature needs, called or read in any way: its routes are made, and never answer. */
const ANYTHING: any = new Proxy(() => ANYTHING, {
  get: (_, member) => (member === Symbol.toPrimitive ? () => "anything" : ANYTHING),
});

/** As the server has them, in its order. */
const { routes: ROUTES, page: PAGE } = featureRoutes(ANYTHING, ANYTHING);

/** The surface that a request reaches, and what its chain authorizes and routes. */
function see(method: string, path: string, accept = ""): Seen {
  let seen: Seen | undefined;
  const chainOf = (surface: string) => (request: any, resolved: any) => {
    const { info, refusal, innerRequest } = resolved ?? resolveRequest(request);
    const { verb, apiGroup, apiVersion, namespace, resource, subresource, name, isResourceRequest } =
      innerRequest?.info ?? info;
    const target = innerRequest?.path?.destination;
    const asked = isResourceRequest
      ? { verb, apiGroup, apiVersion, namespace, resource, subresource, name, target }
      : { verb, path: (innerRequest?.info ?? info).path.replace(/(.)\/$/, "$1"), target };
    const isRefused = refusal !== undefined || innerRequest?.pathRefusal !== undefined;
    seen = { surface, refused: isRefused || (surface === "proxy" && innerRequest?.info === undefined), asked };
    return { status: 200, headers: {}, body: { type: "bytes", bytes: "" } };
  };
  const routes = ROUTES.map(({ takes, loggedUri }, place) => ({ takes, loggedUri, chain: chainOf(`route ${place}`) }));
  const page = PAGE && { takes: PAGE.takes, chain: chainOf("page") };
  const [management, proxy] = [chainOf("management"), chainOf("proxy")];
  const door = createApiRouter({ management, proxy, routes, page, sessions: {} } as any);
  const request = requestOf({
    ...{ method, path, basePath: "", query: new URLSearchParams(), requestUri: path, headers: { accept } },
    ...{ httpVersion: "1.1", remoteAddress: "", host: "", peerCertificate: () => undefined },
    ...{
      body: async () => new Uint8Array(),
      bodyStream: () => Readable.from([]),
      signal: new AbortController().signal,
    },
  } as any);
  void door(request);
  if (seen === undefined) throw new Error(`no surface answered ${path}`);
  return seen;
}

const PREFIXES = ["", "/kubernetes/management", "/kubernetes/project/a/virtualcluster/v1", "/kubernetes/cluster/c1"];
const OTHERS = [
  "/leaks",
  "/oauth/token",
  "/unwrap",
  "/join/value",
  "/tunnel/connect",
  "/login",
  "/login/callback/provider",
  "/login/back-channel/provider",
  "/device",
  "/profile",
  "/scim/v2/Users",
  "/scim/v2/Users/alice",
  "/scim/v2/Groups/devs",
  "/scim/v2/ServiceProviderConfig",
  "/console/app.js",
  "/docs",
  "/docs/guides/ci",
  "/keys/a",
  "/healthz",
  "/metrics",
  "/version",
  "/openapi/v3",
];

const hex = (character: string): string => `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
const at = (path: string, where: number): number => where % (path.length + 1);
const slashAt = (path: string, where: number): number => {
  const all = [...path].flatMap((character, place) => (character === "/" ? [place] : []));
  return all[where % all.length] ?? 0;
};
const insert = (path: string, place: number, text: string): string => path.slice(0, place) + text + path.slice(place);

type Mutation = (path: string, where: number) => string;
/** The same path, written in another way. */
const SPELLINGS: readonly Mutation[] = [
  (path) => `${path}/`,
  (path) => `${path}%2f`,
  (path) => `${path}%2F`,
  (path, where) => {
    const place = at(path, where) % path.length;
    return path.slice(0, place) + hex(path[place] ?? "") + path.slice(place + 1);
  },
  (path, where) => {
    const place = slashAt(path, where);
    return `${path.slice(0, place)}%2F${path.slice(place + 1)}`;
  },
  (path) => path.slice(0, 1) + [...path.slice(1)].map((each) => (each === "/" ? each : hex(each))).join(""),
];
/** Another path, which some programs take for the same. */
const LOOKALIKES: readonly Mutation[] = [
  (path, where) => insert(path, slashAt(path, where), "/"),
  (path) => `/${path}`,
  (path) => `${path}//`,
  (path, where) => insert(path, slashAt(path, where), "/."),
  (path, where) => insert(path, slashAt(path, where), "/x/.."),
  (path, where) => insert(path, slashAt(path, where), "/%2e%2e"),
  (path) => `${path}/..`,
  (path) => `${path}/%2e`,
  (path, where) => insert(path, at(path, where), "%00"),
  (path, where) => insert(path, at(path, where), "%5c"),
  (path, where) => insert(path, slashAt(path, where) + 1, "%252e%252e%252f"),
  (path) => `${path};a=b`,
];

describe(`${CASES} paths in other forms, seed ${SEED}`, { timeout: 60_000 + CASES * 10 }, () => {
  let routes: readonly { readonly method: string; readonly path: string }[];
  beforeAll(async () => {
    await using platform = await startPlatform();
    const served = (await servedRoutes(platform)).map(({ method, path }) => ({
      method: method || "GET",
      path: path({ namespace: "p-a", name: "v1" }).split("?")[0] ?? "",
    }));
    const others = OTHERS.flatMap((path) => ["GET", "POST", "PUT", "DELETE"].map((method) => ({ method, path })));
    routes = [
      ...PREFIXES.flatMap((base) => served.map(({ method, path }) => ({ method, path: base + path }))),
      ...others,
    ];
  });

  const cases = (mutations: readonly Mutation[], check: (method: string, path: string, other: string) => void) =>
    fc.assert(
      fc.property(fc.nat(), fc.constantFrom(...mutations), fc.nat(), (which, mutate, where) => {
        const { method, path } = routes[which % routes.length] ?? { method: "GET", path: "/" };
        check(method, path, mutate(path, where));
      }),
      { numRuns: CASES, ...(Number.isNaN(SEED) ? {} : { seed: SEED }) },
    );

  test("are refused, or are the same request on the same surface (security book 32)", () => {
    cases(SPELLINGS, (method, path, other) => {
      const [own, seen] = [see(method, path, "text/html"), see(method, other, "text/html")];
      // An exact name has no other form: the request is refused elsewhere, and changes nothing.
      const isElsewhere = seen.surface === "management" && !("resource" in (seen.asked as object));
      if (!seen.refused && !isElsewhere) expect([other, seen]).toEqual([other, own]);
    });
  });

  test("are never a request for something that their own text does not say", () => {
    cases(LOOKALIKES, (method, _path, other) => {
      const seen = see(method, other, "text/html");
      if (seen.refused) return;
      // The text is decoded once, and taken apart at its slashes: every part of the question is one of them.
      const segments = decodeURIComponent(other).split("/");
      const { verb: _, path: __, target, ...parts } = seen.asked as { [part: string]: string };
      for (const part of [...Object.values(parts), ...Object.values(target ?? {}).slice(1)])
        expect([other, part === "" || segments.includes(part)]).toEqual([other, true]);
      // A dot segment is only ever the name of an object, which none can have.
      const { name, ...others } = parts;
      expect([other, name, Object.values(others).filter((part) => part !== name && /^\.+$/.test(part))]).toEqual([
        other,
        name,
        [],
      ]);
    });
  });
});
