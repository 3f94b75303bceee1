import type { AccessKeyRestrictions } from "@postern/api/access-key-restrictions";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { accessKey } from "../access-keys/testing/access-key.ts";
import { evaluatedKeys } from "../access-keys/testing/key-world.ts";
import { isPermissionSubset } from "../access-keys/validity/permission-subset.ts";
import { createEffectiveRules } from "./effective-rules/effective-rules.ts";
import { FILTERED_RESOURCES, type FilteredResource, groupOfFiltered } from "./filtered-resources.ts";
import { labelsOfClusters } from "./members/instance-permissions.ts";
import { createPlatformAuthorizer } from "./platform-authorizer.ts";
import { isControlPlaneKeyRequest } from "./request/control-plane-key-request.ts";
import type { PlatformRequest } from "./request/platform-request.ts";
import { inScope } from "./restrictions/scope.ts";
import {
  anyWorld,
  caller,
  realRestrictions,
  request,
  restrictions,
  rulesNearTo,
  wideRules,
} from "./testing/arbitraries.ts";
import { presentedKey } from "./testing/key-arbitraries.ts";
import { isGoodKey } from "./testing/key-oracle.ts";
import {
  cached,
  instanceObject,
  management,
  memorySources,
  names,
  projectObject,
  withKey,
} from "./testing/memory-world.ts";
import { narrowerThan } from "./testing/narrower.ts";
import { scopeOpens, userMay } from "./testing/oracle.ts";
import { createVisibility } from "./visibility/visibility.ts";

/** Requests judged per property; each platform and key is asked about many of them. */
const CASES = Number(process.env["POSTERN_PROPERTY_CASES"] ?? 5_000);
const SEED = Number(process.env["TEST_SEED"]);
const PER_KEY = 32;
/** Where what becomes of the key is drawn too: there are more keys to see. */
const PER_KEY_STATE = 8;
/** Looking for the smallest case that fails is of no use to mutation testing, which only asks whether one does. */
const endOnFailure = process.env["POSTERN_PROPERTY_SHRINK"] === "0";
const RUN = { seed: SEED, numRuns: Math.ceil(CASES / PER_KEY), endOnFailure };
const requests = fc.array(request, { minLength: PER_KEY, maxLength: PER_KEY });
const fewRequests = fc.array(request, { minLength: PER_KEY_STATE, maxLength: PER_KEY_STATE });

describe(`${CASES} random requests, seed ${SEED}`, { timeout: 20_000 + CASES }, () => {
  test("a key may do exactly what its rules, its scope and its owner's permissions all allow (security book 1)", () => {
    const seen = { allowed: 0, refusedByScope: 0, refusedByState: 0 };
    const cases = caller.chain((who) => fc.tuple(fc.constant(who), presentedKey(who.owner)));
    fc.assert(
      fc.property(anyWorld, cases, fewRequests, (world, [{ user, owner }, { presented, keyWorld }], asked) => {
        const authorizer = createPlatformAuthorizer({ ...memorySources(world), keys: evaluatedKeys(keyWorld) });
        const isGood = isGoodKey(keyWorld, presented.id);
        for (const each of asked) {
          const decision = authorizer.decide(each, withKey(user, presented));
          const mayUser = userMay(world, user, each);
          const isOpen = scopeOpens(presented.restrictions, each, user, owner, world.instances);
          expect({ each, allowed: decision.verdict === "allow", isRefused: decision.code === "key-refused" }).toEqual({
            each,
            allowed: isGood && mayUser && isOpen,
            isRefused: !isGood,
          });
          if (decision.verdict === "allow") seen.allowed++;
          if (isGood && mayUser && !isOpen) seen.refusedByScope++;
          if (!isGood && mayUser && isOpen) seen.refusedByState++;
        }
      }),
      { ...RUN, numRuns: Math.ceil(CASES / PER_KEY_STATE) },
    );
    // A property that nothing meets would hold as well.
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(CASES / 200);
  });

  test("narrowing a key never allows more (security book 2)", () => {
    const family = restrictions.chain((parent) => fc.tuple(fc.constant(parent), narrowerThan(parent)));
    fc.assert(
      fc.property(anyWorld, caller, family, requests, (world, { user, owner }, [parent, child], asked) => {
        const sources = memorySources(world);
        const parentKey = accessKey({ owner, restrictions: parent });
        const childKey = accessKey({ owner, restrictions: child, id: "child", uid: "child-uid" });
        sources.access.setKey(parentKey);
        sources.access.setKey(childKey);
        const authorizer = createPlatformAuthorizer(sources);
        for (const each of asked) {
          if (authorizer.decide(each, withKey(user, childKey)).verdict !== "allow") continue;
          expect({ each, parent: authorizer.decide(each, withKey(user, parentKey)).verdict }).toEqual({
            each,
            parent: "allow",
          });
        }
      }),
      RUN,
    );
  });

  test("a key that counts as within another is allowed nothing that the other is not (security book 2)", () => {
    let compared = 0;
    const family = fc
      .tuple(fc.oneof(realRestrictions, realRestrictions, wideRules), realRestrictions)
      .chain(([parent, other]) =>
        fc.tuple(fc.constant(parent), fc.oneof(narrowerThan(parent), rulesNearTo(parent), fc.constant(other))),
      );
    fc.assert(
      fc.property(anyWorld, caller, family, requests, (world, { user, owner }, [parent, child], asked) => {
        if (!isPermissionSubset(child, parent)) return;
        compared++;
        const context = { names, user, owner, clusterLabels: labelsOfClusters(memorySources(world).instances) };
        for (const each of [...asked, ...namedBy(child)]) {
          if (inScope(child, each, context).open) {
            expect({ each, parent: inScope(parent, each, context).open }).toEqual({ each, parent: true });
          }
        }
      }),
      RUN,
    );
    expect(compared).toBeGreaterThan(RUN.numRuns / 20);
  });

  test("a list shows exactly what the caller may get", () => {
    let shown = 0;
    fc.assert(
      fc.property(anyWorld, caller, restrictions, (world, { user, owner }, narrowedTo) => {
        const sources = memorySources(world);
        const key = accessKey({ owner, restrictions: narrowedTo });
        sources.access.setKey(key);
        const authorizer = createPlatformAuthorizer(sources);
        const visibility = createVisibility(sources);
        for (const resource of FILTERED_RESOURCES) {
          const visible = visibility.visibleTo(withKey(user, key), resource);
          for (const { object, namespace, name } of objectsOf(resource, world)) {
            const get = management({ resource, namespace, name, apiGroup: groupOfFiltered(resource, names) });
            const mayGet = authorizer.decide(get, withKey(user, key)).verdict === "allow";
            expect({ resource, namespace, name, seen: visible === "all" || visible(object) }).toEqual({
              resource,
              namespace,
              name,
              seen: mayGet,
            });
            if (mayGet) shown++;
          }
        }
      }),
      RUN,
    );
    expect(shown).toBeGreaterThan(0);
  });

  test("the rules shown to a caller contain nothing that is refused to it", async () => {
    const resolve = fc.asyncProperty(
      anyWorld,
      caller,
      restrictions,
      requests,
      async (world, { user, owner }, narrowedTo, asked) => {
        const sources = memorySources(world);
        const key = accessKey({ owner, restrictions: narrowedTo });
        sources.access.setKey(key);
        const authorizer = createPlatformAuthorizer(sources);
        const rules = createEffectiveRules(sources);
        for (const each of asked) {
          const { isResourceRequest, namespace, resource, subresource, verb, apiGroup, name } = each.inner;
          // For namespaced objects.
          if (each.target !== "Management" || !isResourceRequest || resource.includes("*") || subresource === "*")
            continue;
          if (apiGroup === "*" || !NAMESPACED.includes(resource)) continue;
          const { resourceRules } = await rules.rulesFor(user, namespace, { id: key.id });
          const isTold = resourceRules.some(
            (rule) =>
              has(rule.verbs, verb) &&
              has(rule.apiGroups, apiGroup) &&
              rule.resources.some(
                (one) => one === "*" || one === whole(resource, subresource) || one === `*/${subresource}`,
              ) &&
              ((rule.resourceNames ?? []).length === 0 || rule.resourceNames?.includes(name)),
          );
          // Requests that a star includes cannot be left out of a list of rules.
          if (!isTold || isControlPlaneKeyRequest(each, names)) continue;
          expect({ each, verdict: authorizer.decide(each, withKey(user, key)).verdict }).toEqual({
            each,
            verdict: "allow",
          });
        }
      },
    );
    await fc.assert(resolve, RUN);
  });
});

/** Requests that the rules of a key name: chance alone seldom asks for one of them. */
const namedBy = (restrictions: AccessKeyRestrictions | undefined): readonly PlatformRequest[] =>
  (restrictions?.ruleSets ?? []).flat().flatMap(({ verbs: [verb = "get"], resources, namespaces: [namespace = ""] }) =>
    resources.flatMap(({ group, resources: patterns, resourceNames: [name = "a"] }) =>
      patterns.map((pattern) => {
        const [resource = "", subresource = ""] = pattern.split("/");
        return management({ verb, apiGroup: group, resource, subresource, namespace, name });
      }),
    ),
  );

const NAMESPACED: readonly string[] = ["virtualclusterinstances", "spaceinstances", "clusterprofiles", "secrets"];

const has = (list: readonly string[], value: string): boolean => list.includes("*") || list.includes(value);
const whole = (resource: string, subresource: string): string =>
  subresource === "" ? resource : `${resource}/${subresource}`;

function objectsOf(resource: FilteredResource, world: Parameters<typeof userMay>[0]) {
  const plain = (name: string) => ({
    namespace: "",
    name,
    object: cached({ apiVersion: `${names.managementGroup}/v1`, kind: "Any", metadata: { name } }, resource),
  });
  switch (resource) {
    case "projects":
      return world.projects.map((project) => ({
        namespace: "",
        name: project.name,
        object: cached(projectObject(project), resource),
      }));
    case "virtualclusterinstances":
    case "spaceinstances":
    case "clusterprofiles":
      return world.instances
        .filter((one) => one.resource === (resource === "clusterprofiles" ? "virtualclusterinstances" : resource))
        .map((instance) => ({
          namespace: instance.namespace,
          name: instance.name,
          // The form that a view shows keeps its record.
          object: cached(instanceObject(instance), instance.resource).withContent(
            resource === "clusterprofiles"
              ? { apiVersion: "any/v1", kind: "Any", metadata: { name: instance.name, namespace: instance.namespace } }
              : instanceObject(instance),
          ),
        }));
    case "users":
      return ["alice", "bob", "carol"].map(plain);
    case "teams":
      return ["devs", "ops"].map(plain);
    case "clusters":
      return ["c1", "c2"].map(plain);
  }
}
