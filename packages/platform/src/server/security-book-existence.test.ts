// A user who may not see an object cannot tell whether it is there: every route that names an object, read from the server itself, is asked for
// one that exists and for one that does not, and must give the same answer but for the name.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PlatformCall, type RunningPlatform, startPlatform } from "../testing/running-platform.ts";
import { callOf, type ServedRoute, servedRoutes } from "./testing/served-routes.ts";

type Place = { readonly namespace: string; readonly name: string };

/** Of the same length, so that not even that differs. */
const absent = (text: string): string => `x${text.slice(1, -1)}x`;

describe("a refusal does not reveal whether an object exists (security book 42)", { timeout: 120_000 }, () => {
  let platform: RunningPlatform;
  let routes: readonly ServedRoute[];
  /** Keys of a user without rights: one that may do what she may, and one whose scope is empty. */
  let keys: readonly string[];
  /** Where the first object of each resource is. */
  const places = new Map<string, Place>();

  beforeAll(async () => {
    platform = await startPlatform();
    await platform.send({ path: "users", body: { metadata: { name: "eve" }, spec: {} } });
    const keyOf = async (name: string, spec: object): Promise<string> =>
      (await platform.send({ path: "ownedaccesskeys", body: { metadata: { name }, spec: { user: "eve", ...spec } } }))
        .body.spec.key;
    keys = [await keyOf("eves", {}), await keyOf("eves-narrow", { scope: {} })];
    const secret = { metadata: { name: "hidden" } };
    await platform.send({ path: "/api/v1/namespaces/p-default/secrets", body: secret });
    routes = await servedRoutes(platform);
    for (const route of routes.filter(({ verb, what }) => verb === "list" && !what.includes("/"))) {
      const listed = await platform.send(callOf(route, { namespace: "p-default", name: "" }));
      // Eve may see her own objects.
      const object = listed.body.items.find(({ metadata }: any) => !metadata.name.startsWith("eve"));
      if (object !== undefined) {
        places.set(route.what, { namespace: object.metadata.namespace ?? "p-default", name: object.metadata.name });
      }
    }
  });
  afterAll(() => platform[Symbol.asyncDispose]());

  const answerOf = async (call: PlatformCall, key: string, ...names: readonly string[]): Promise<string> => {
    const { status, text } = await platform.send({ ...call, key });
    return names.reduce((told, name) => told.replaceAll(name, "?"), `${status} ${text}`);
  };

  it("of any route that names an object", async () => {
    const told: string[] = [];
    let compared = 0;
    for (const route of routes) {
      const place = places.get(route.what.split("/")[0] ?? "");
      if (place === undefined || !route.path({ namespace: "-", name: "NAME" }).includes("NAME")) continue;
      for (const key of keys) {
        const [there, missing] = [
          await answerOf(callOf(route, place), key, place.name),
          await answerOf(callOf(route, { ...place, name: absent(place.name) }), key, absent(place.name)),
        ];
        compared++;
        if (there !== missing) told.push(`${route.id}: ${there} / ${missing}`);
      }
    }
    expect(told).toEqual([]);
    expect(compared).toBeGreaterThan(100);
    expect([...places.keys()]).toEqual(
      expect.arrayContaining(["ownedaccesskeys", "projects", "users", "virtualclusterinstances", "secrets"]),
    );
  });

  it.each<[what: string, path: (project: string, cluster: string) => string]>([
    ["a namespace", (project) => `/api/v1/namespaces/p-${project}/secrets`],
    ["what is in one", (project, cluster) => `namespaces/p-${project}/virtualclusterinstances/${cluster}`],
    ["a virtual cluster", (project, cluster) => `/kubernetes/project/${project}/virtualcluster/${cluster}/api/v1/pods`],
    ["its version", (project, cluster) => `/kubernetes/project/${project}/virtualcluster/${cluster}/version`],
    ["a space", (project, cluster) => `/kubernetes/project/${project}/space/${cluster}/api/v1/secrets`],
  ])("nor of %s", async (_, path) => {
    const there = ["default", "demo"] as const;
    const others: readonly (readonly [string, string])[] = [
      ["default", absent("demo")],
      [absent("default"), "demo"],
    ];
    for (const key of keys) {
      const answer = await answerOf({ path: path(...there) }, key, ...there);
      expect(answer).toMatch(/^40[34] /);
      for (const names of others) expect(await answerOf({ path: path(...names) }, key, ...names)).toBe(answer);
    }
  });
});
