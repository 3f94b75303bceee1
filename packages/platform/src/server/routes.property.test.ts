// The decision point, asked about every route that the composed server has, below proxies too, by random keys on random platforms.

import { resolveRequestInfo } from "@postern/apiserver/request/request-info";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { evaluatedKeys } from "../features/access-keys/testing/key-world.ts";
import { createPlatformAuthorizer } from "../features/authorization/platform-authorizer.ts";
import { managementRequest, type PlatformRequest } from "../features/authorization/request/platform-request.ts";
import { parseProxyPath, proxyRequest } from "../features/authorization/request/proxy-path.ts";
import { anyWorld, caller } from "../features/authorization/testing/arbitraries.ts";
import { presentedKey } from "../features/authorization/testing/key-arbitraries.ts";
import { isGoodKey } from "../features/authorization/testing/key-oracle.ts";
import { memorySources, withKey } from "../features/authorization/testing/memory-world.ts";
import { scopeOpens, userMay } from "../features/authorization/testing/oracle.ts";
import { startPlatform } from "../testing/running-platform.ts";
import { servedRoutes } from "./testing/served-routes.ts";

const CASES = Number(process.env["POSTERN_PROPERTY_CASES"] ?? 5_000);
const SEED = Number(process.env["TEST_SEED"]);
const PER_KEY = 16;

type Place = { readonly namespace: string; readonly name: string };
type Route = { readonly id: string; readonly method: string; readonly path: (place: Place) => string };

/** The ways to what is behind the server, in front of every path that the server has itself. */
const PROXIES = [
  "",
  "/kubernetes/project/a/virtualcluster/v1",
  "/kubernetes/project/ab/space/v2",
  "/kubernetes/cluster/c1",
];
const place: fc.Arbitrary<Place> = fc.record({
  namespace: fc.constantFrom("p-a", "p-a", "p-ab", "p-b", "kube-system"),
  name: fc.constantFrom("a", "ab", "v1", "v1", "v10", "v2", "alice", "bob", "devs", "c1", "c2"),
});

describe(`${CASES} random requests to routes of the server, seed ${SEED}`, { timeout: 60_000 + CASES }, () => {
  let routes: readonly Route[];
  beforeAll(async () => {
    await using platform = await startPlatform();
    const { body } = await platform.send({ path: "/" });
    const paths: readonly string[] = body.paths;
    routes = [
      ...(await servedRoutes(platform)),
      ...paths.flatMap((path) =>
        ["GET", "HEAD", "POST", "OPTIONS"].map((method) => ({ id: `${method} ${path}`, method, path: () => path })),
      ),
    ];
  });

  const resolve = (method: string, url: string): PlatformRequest => {
    const [path = "", query = ""] = url.split("?");
    const parameters = new URLSearchParams(query);
    const proxied = parseProxyPath(path);
    if (proxied !== undefined) return proxyRequest(proxied, method, parameters);
    return managementRequest(resolveRequestInfo(method, path, parameters));
  };

  test("a key may do exactly what its rules, its scope and its owner's permissions all allow (security book 1, 2, 13)", () => {
    const asked = fc.array(
      fc
        .record({ route: fc.constantFrom(...routes), proxy: fc.constantFrom(...PROXIES), place })
        .map(({ route: { id, method, path }, proxy, place: where }) => ({ id, method, url: proxy + path(where) })),
      { minLength: PER_KEY, maxLength: PER_KEY },
    );
    const cases = caller.chain((who) => fc.tuple(fc.constant(who), presentedKey(who.owner)));
    const ids = new Set<string>();
    const seen = { allowed: 0, refusedByPermissions: 0, refusedByScope: 0, refusedByState: 0 };
    fc.assert(
      fc.property(anyWorld, cases, asked, (world, [{ user, owner }, { presented, keyWorld }], calls) => {
        const authorizer = createPlatformAuthorizer({ ...memorySources(world), keys: evaluatedKeys(keyWorld) });
        const isGood = isGoodKey(keyWorld, presented.id);
        for (const { id, method, url } of calls) {
          const request = resolve(method, url);
          const mayUser = userMay(world, user, request);
          const isOpen = scopeOpens(presented.restrictions, request, user, owner, world.instances);
          const isAllowed = authorizer.decide(request, withKey(user, presented)).verdict === "allow";
          expect({ method, url, isAllowed }).toEqual({ method, url, isAllowed: isGood && mayUser && isOpen });
          ids.add(id);
          if (isAllowed) seen.allowed++;
          else if (!mayUser) seen.refusedByPermissions++;
          else if (!isOpen) seen.refusedByScope++;
          else seen.refusedByState++;
        }
      }),
      { seed: SEED, numRuns: Math.ceil(CASES / PER_KEY) },
    );
    expect(routes.filter(({ id }) => !ids.has(id)).map(({ id }) => id)).toEqual([]);
    // A property that nothing meets would hold as well.
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(CASES / 200);
  });
});
