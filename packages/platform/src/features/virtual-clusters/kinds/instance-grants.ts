// The escalation check on owner, access list and roles of a virtual cluster or space: you can only grant permissions that you have.

import type { PlatformNames } from "@postern/api/platform-names";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { mayDo } from "../../../foundation/kinds/may-do.ts";
import type { AccessKeyState } from "../../access-keys/access-key-state.ts";
import type { AccessKeyIndex } from "../../access-keys/index/access-key-index.ts";
import { keyOfRequest } from "../../access-keys/kinds/owned-access-keys/lineage.ts";
import type { InstanceResource } from "../../authorization/filtered-resources.ts";
import type { InsideIdentity, InstancePlace, insideIdentity } from "../../authorization/inside/inside-groups.ts";
import {
  type ExtraAccessRule,
  type InstanceAccess,
  readInstancePermissions,
} from "../../authorization/members/instance-permissions.ts";
import { asStanding } from "../../authorization/standing-user.ts";

export type InstanceGrantsDeps = {
  readonly names: PlatformNames;
  readonly authorizer: Authorizer;
  readonly keys: Pick<AccessKeyIndex, "byId">;
  /** The identity of a user inside. */
  readonly insideIdentity: (user: Parameters<typeof insideIdentity>[0], place: InstancePlace) => InsideIdentity;
};

type Action = readonly [verb: string, subresource: string];

/** Verbs of an owner that `*` does not name one by one. */
const MAIN_VERBS = ["get", "update", "patch", "delete", "use"];
const SUBRESOURCES: { readonly [resource in InstanceResource]: readonly Action[] } = {
  virtualclusterinstances: [
    ["create", "kubeconfig"],
    ["get", "accesskey"],
    ["get", "credentials"],
    ["create", "credentials"],
  ],
  spaceinstances: [],
};

const actionsOfOwner = (resource: InstanceResource): readonly Action[] => [
  ...MAIN_VERBS.map((verb) => [verb, ""] as const),
  ...SUBRESOURCES[resource],
];

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
  const rights = rightsOf(resource, instance, key, context, deps);
  const refuse = (why: string) =>
    forbiddenRequestError({ group: deps.names.managementGroup, resource }, instance.metadata.name ?? "", why);
  const checkHeld = async (field: string, actions: readonly Action[]): Promise<void> => {
    const lacking = await rights.lacks(actions);
    if (lacking === undefined) return;
    const right = lacking.filter((part) => part !== "").join(" ");
    throw refuse(`${field} grants ${JSON.stringify(right)}, which you do not have`);
  };

  const given = readInstancePermissions(instance);
  const before = old === undefined ? undefined : readInstancePermissions(old);
  if (before !== undefined && !equalJson({ ...given.owner }, { ...before.owner }))
    await checkHeld("spec.owner", actionsOfOwner(resource));
  const hadAccess = new Set(before?.access.map(accessText));
  for (const [at, access] of given.access.entries()) {
    await context.pause();
    if (!hadAccess.has(accessText(access))) await checkHeld(`spec.access[${at}]`, actionsOf(access, resource));
  }
  const hadRules = new Set(before?.extraAccessRules.map(extraText));
  for (const [at, extra] of given.extraAccessRules.entries()) {
    await context.pause();
    if (hadRules.has(extraText(extra)) || (await rights.mayGiveRole(extra.clusterRole))) continue;
    const role = JSON.stringify(extra.clusterRole);
    throw refuse(
      `spec.extraAccessRules[${at}] grants ClusterRole ${role}, which you do not have in the virtual cluster`,
    );
  }
  const applied = appliedBy(instance);
  if (applied === undefined || equalJson(applied, appliedBy(old) ?? null)) return;
  if (!(await rights.mayGiveRole("cluster-admin")))
    throw refuse(`spec.${applied.by} is applied with all permissions in the virtual cluster, which you do not have`);
}

/** Rights of a caller on an instance, and inside of it. Each question is decided once, however many entries ask it. */
type InstanceRights = {
  /** The first action that the caller may not do. */
  lacks(actions: readonly Action[]): Promise<Action | undefined>;
  /** Whether the caller has the ClusterRole inside, or could give it to itself. */
  mayGiveRole(clusterRole: string): Promise<boolean>;
};

function rightsOf(
  resource: InstanceResource,
  { metadata: { namespace = "", name = "" } }: KubeObject,
  key: AccessKeyState | undefined,
  context: RequestContext,
  { names, authorizer, insideIdentity }: InstanceGrantsDeps,
): InstanceRights {
  // An entry lasts, and access for a time does not.
  const caller = asStanding(context, names);
  const target = { apiGroup: names.managementGroup, resource, namespace, name };
  const decided = new Map<string, boolean>();
  const isAllowed = async ([verb, subresource]: Action): Promise<boolean> => {
    const text = `${verb}/${subresource}`;
    const allowed = decided.get(text) ?? (await mayDo(caller, { ...target, verb, subresource }, authorizer));
    decided.set(text, allowed);
    return allowed;
  };
  const lacks = async (actions: readonly Action[]): Promise<Action | undefined> => {
    for (const action of actions) if (!(await isAllowed(action))) return action;
    return undefined;
  };
  /** A caller with all permissions of an owner could become the owner. */
  const couldOwn = once(async () => (await lacks(actionsOfOwner(resource))) === undefined);
  // Rules allow parts of the content, to which a role inside would not be limited.
  const opensInside = once(
    async () => (key?.restrictions?.ruleSets.length ?? 0) === 0 && (await isAllowed(["use", ""])),
  );
  const groupsInside = once((): ReadonlySet<string> => {
    const project = names.projectOf(namespace) ?? "";
    const place = resource === "spaceinstances" ? { project, space: name } : { project, virtualCluster: name };
    return new Set(insideIdentity(caller.user, place).groups);
  });
  return {
    lacks,
    async mayGiveRole(clusterRole) {
      if (!(await opensInside())) return false;
      if (await couldOwn()) return true;
      return ["cluster-admin", clusterRole].some((role) => groupsInside().has(names.insideRoleGroup(role)));
    },
  };
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
function actionsOf({ verbs, subresources }: InstanceAccess, resource: InstanceResource): readonly Action[] {
  const isNamed = (list: readonly string[], value: string): boolean => list.includes("*") || list.includes(value);
  return [
    ...MAIN_VERBS.filter((verb) => isNamed(verbs, verb)).map((verb) => [verb, ""] as const),
    ...SUBRESOURCES[resource].filter(([verb, part]) => isNamed(verbs, verb) && isNamed(subresources, part)),
  ];
}
