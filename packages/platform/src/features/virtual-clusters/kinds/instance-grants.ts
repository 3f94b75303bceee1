// The escalation check on owner, access list and roles of a virtual cluster or space: you can only grant permissions that you have.

import type { PlatformNames } from "@postern/api/platform-names";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { AccessKeyIndex } from "../../access-keys/access-key-index.ts";
import { keyOfRequest } from "../../access-keys/kinds/owned-access-keys/lineage.ts";
import type { InstanceResource } from "../../authorization/filtered-resources.ts";
import type { InsideIdentity, InstancePlace, insideIdentity } from "../../authorization/inside-groups.ts";
import {
  type ExtraAccessRule,
  type InstanceAccess,
  readInstancePermissions,
} from "../../authorization/instance-permissions.ts";
import { asStanding } from "../../authorization/standing-user.ts";

export type InstanceGrantsDeps = {
  readonly names: PlatformNames;
  readonly authorizer: Authorizer;
  readonly keys: Pick<AccessKeyIndex, "byId">;
  /** The identity of a user inside. */
  readonly insideIdentity: (user: Parameters<typeof insideIdentity>[0], place: InstancePlace) => InsideIdentity;
};

/** Verbs of an owner that `*` does not name one by one. */
const MAIN_VERBS = ["get", "update", "patch", "delete", "use"];
const SUBRESOURCES: {
  readonly [resource in InstanceResource]: readonly (readonly [verb: string, subresource: string])[];
} = {
  virtualclusterinstances: [
    ["create", "kubeconfig"],
    ["get", "accesskey"],
    ["get", "credentials"],
    ["create", "credentials"],
  ],
  spaceinstances: [],
};

/** Throws 403. `old` is what an update starts from; the creator of an instance owns all permissions in it. */
export async function checkInstanceGrants(
  resource: InstanceResource,
  instance: KubeObject,
  old: KubeObject | undefined,
  context: RequestContext,
  deps: InstanceGrantsDeps,
): Promise<void> {
  const key = keyOfRequest(context, deps.keys);
  if (old === undefined && key?.restrictions === undefined) return;
  const { names, authorizer } = deps;
  const { namespace = "", name = "" } = instance.metadata;
  // An entry lasts, and access for a time does not.
  const { user, credential } = asStanding(context, names);
  const decided = new Map<string, boolean>();
  /** Each is decided once, however many entries ask it. */
  const isAllowed = async (verb: string, subresource: string): Promise<boolean> => {
    const shape = `${verb}/${subresource}`;
    const allowed = decided.get(shape) ?? (await decide(verb, subresource));
    decided.set(shape, allowed);
    return allowed;
  };
  const decide = async (verb: string, subresource: string): Promise<boolean> => {
    const target = {
      apiGroup: names.managementGroup,
      apiVersion: "v1",
      resource,
      subresource,
      namespace,
      name,
      path: "",
    };
    return (
      (await authorizer.authorize({ user, credential, verb, isResourceRequest: true, ...target })).verdict === "allow"
    );
  };
  const mustHold = async (what: string, pairs: readonly (readonly [verb: string, subresource: string])[]) => {
    for (const [verb, subresource] of pairs) {
      if (await isAllowed(verb, subresource)) continue;
      const right = subresource === "" ? verb : `${verb} ${subresource}`;
      throw refuse(`${what} grants ${JSON.stringify(right)}, which you do not have`);
    }
  };
  const everything = [...MAIN_VERBS.map((verb) => [verb, ""] as const), ...SUBRESOURCES[resource]];
  /** A caller with all permissions of an owner could become the owner. */
  const holds = once(async (): Promise<boolean> => {
    for (const [verb, subresource] of everything) if (!(await isAllowed(verb, subresource))) return false;
    return true;
  });
  const groupsInside = once((): ReadonlySet<string> => {
    const project = names.projectOf(namespace) ?? "";
    const place = resource === "spaceinstances" ? { project, space: name } : { project, virtualCluster: name };
    return new Set(deps.insideIdentity(user, place).groups);
  });
  const hasInside = (clusterRole: string): boolean =>
    ["cluster-admin", clusterRole].some((role) => groupsInside().has(names.insideRoleGroup(role)));
  // Rules allow parts of the content, to which a role inside would not be limited.
  const opensInside = once(async () => (key?.restrictions?.ruleSets.length ?? 0) === 0 && (await isAllowed("use", "")));
  const refuse = (why: string) => forbiddenRequestError({ group: names.managementGroup, resource }, name, why);

  const given = readInstancePermissions(instance);
  const before = old === undefined ? undefined : readInstancePermissions(old);
  if (before !== undefined && !equalJson({ ...given.owner }, { ...before.owner }))
    await mustHold("spec.owner", everything);
  const hadAccess = new Set(before?.access.map(accessText));
  for (const [at, access] of given.access.entries()) {
    await context.pause();
    if (hadAccess.has(accessText(access))) continue;
    await mustHold(`spec.access[${at}]`, pairsOf(access, resource));
  }
  const hadRules = new Set(before?.extraAccessRules.map(extraText));
  for (const [at, extra] of given.extraAccessRules.entries()) {
    await context.pause();
    if (hadRules.has(extraText(extra))) continue;
    const { clusterRole } = extra;
    if (!(await opensInside()) || !((await holds()) || hasInside(clusterRole))) {
      throw refuse(
        `spec.extraAccessRules[${at}] grants ClusterRole ${JSON.stringify(clusterRole)}, which you do not have in the virtual cluster`,
      );
    }
  }
  const applied = appliedBy(instance);
  if (applied === undefined || equalJson(applied, appliedBy(old) ?? null)) return;
  if (!(await opensInside()) || !((await holds()) || hasInside("cluster-admin"))) {
    throw refuse(`spec.${applied.by} is applied with all permissions in the virtual cluster, which you do not have`);
  }
}

/** Manifests are applied inside with all permissions there, whether they are in the instance or in a template that it names. */
function appliedBy(instance: KubeObject | undefined): { readonly by: string; readonly what: JsonValue } | undefined {
  const spec = instance?.["spec"];
  if (!isJsonObject(spec)) return undefined;
  const { template, templateRef, parameters } = spec;
  if (isJsonObject(template)) {
    const { objects } = template;
    return typeof objects === "string" && objects !== "" ? { by: "template.objects", what: objects } : undefined;
  }
  const name = isJsonObject(templateRef) ? templateRef["name"] : undefined;
  if (typeof name !== "string" || name === "") return undefined;
  return { by: "templateRef", what: [templateRef ?? null, parameters ?? ""] };
}

const once = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
};

const accessText = ({ users, teams, verbs, subresources }: InstanceAccess): string =>
  JSON.stringify([users, teams, verbs, subresources]);

const extraText = ({ users, teams, clusterRole }: ExtraAccessRule): string =>
  JSON.stringify([users, teams, clusterRole]);

/** A star means everything, and a name means itself. */
function pairsOf(
  { verbs, subresources }: InstanceAccess,
  resource: InstanceResource,
): readonly (readonly [verb: string, subresource: string])[] {
  const isNamed = (list: readonly string[], value: string): boolean => list.includes("*") || list.includes(value);
  const known = SUBRESOURCES[resource].filter(([verb, part]) => isNamed(verbs, verb) && isNamed(subresources, part));
  return [...MAIN_VERBS.filter((verb) => isNamed(verbs, verb)).map((verb) => [verb, ""] as const), ...known];
}
