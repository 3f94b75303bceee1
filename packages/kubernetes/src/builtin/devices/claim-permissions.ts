// Permissions beside that for the claim itself: to allocate and reserve devices, to write the status of those of a driver, and to have administrative
// access to devices that others use.
// Source: k8s.io/kubernetes/pkg/registry/resource/utils.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { forbiddenError, indexPath } from "@postern/apimachinery/validation/field-error";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { AuthorizationAttributes, Authorizer } from "@postern/apiserver/authorization/authorizer";
import { authorizationAttributesOf, forbiddenErrorFor } from "@postern/apiserver/context/authorization-attributes";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { listAt, textAt } from "../workloads/json-members.ts";
import type { Faults } from "./device-names.ts";
import type {
  AllocatedDevice,
  AllocatedDeviceStatus,
  AllocationResult,
  DeviceClaim,
  ResourceClaimStatus,
} from "./device-objects.ts";
import { placeOf } from "./validate-claim-status.ts";

export type ClaimPermissions = {
  readonly authorizer: Authorizer;
  /** Undefined if there is none. */
  readonly findNamespace: (name: string, context: RequestContext) => Promise<KubeObject | undefined>;
};

const ADMIN_LABEL = "resource.kubernetes.io/admin-access";

async function adminFaults(
  path: string,
  namespace: string,
  { findNamespace }: ClaimPermissions,
  context: RequestContext,
): Promise<Faults> {
  const found = await findNamespace(namespace, context);
  if (found?.metadata.labels?.[ADMIN_LABEL] === "true") return [];
  const why = `admin access to devices requires the \`${ADMIN_LABEL}: true\` label on the containing namespace`;
  return [forbiddenError(path, why)];
}

/** Of a claim or a template; the path is that of a claim for both. */
export async function requestedAdminFaults(
  { requests }: DeviceClaim = {},
  namespace: string,
  permissions: ClaimPermissions,
  context: RequestContext,
): Promise<Faults> {
  const index = (requests ?? []).findIndex(({ exactly }) => exactly?.adminAccess === true);
  if (index < 0) return [];
  return adminFaults(`${indexPath("spec.devices.requests", index)}.adminAccess`, namespace, permissions, context);
}

/** Access that was granted before stays. */
async function allocatedAdminFaults(
  next: ResourceClaimStatus,
  old: ResourceClaimStatus,
  permissions: ClaimPermissions,
  context: RequestContext,
): Promise<Faults> {
  const indexIn = ({ allocation }: ResourceClaimStatus): number =>
    (allocation?.devices?.results ?? []).findIndex((each: AllocatedDevice) => each.adminAccess === true);
  const index = indexIn(next);
  if (index < 0 || indexIn(old) >= 0) return [];
  const path = `${indexPath("status.allocation.devices.results", index)}.adminAccess`;
  return adminFaults(path, context.info.namespace, permissions, context);
}

/** Undefined where the caller may. */
async function refusalOf(authorizer: Authorizer, attributes: AuthorizationAttributes): Promise<string | undefined> {
  const { verdict, reason } = await authorizer.authorize(attributes);
  return verdict === "allow" ? undefined : forbiddenErrorFor(attributes, reason).message;
}

// Objects are JSON; only their named types hide it.
const isSame = (a: object | undefined, b: object | undefined): boolean =>
  equalJson((a ?? null) as JsonValue, (b ?? null) as JsonValue);

async function bindingFaults(
  next: ResourceClaimStatus,
  old: ResourceClaimStatus,
  { authorizer }: ClaimPermissions,
  context: RequestContext,
): Promise<Faults> {
  if (isSame(next.allocation, old.allocation) && isSame(next.reservedFor, old.reservedFor)) return [];
  const attributes = { ...authorizationAttributesOf(context), subresource: "binding", namespace: "", name: "" };
  const refusal = await refusalOf(authorizer, attributes);
  const needed = `resource="resourceclaims/binding", verb="${attributes.verb}" permission`;
  return refusal === undefined
    ? []
    : [
        forbiddenError(
          "status.allocation",
          `changing status.allocation or status.reservedFor requires ${needed}: ${refusal}`,
        ),
      ];
}

/** A driver on the node of the claim has a weaker permission than one that writes from elsewhere. */
async function driverFaults(
  next: ResourceClaimStatus,
  old: ResourceClaimStatus,
  { authorizer }: ClaimPermissions,
  context: RequestContext,
): Promise<Faults> {
  const attributes = { ...authorizationAttributesOf(context), subresource: "driver" };
  const isNear = isOnNode(context.user, nodeOf(next.allocation));
  const verbs = [...(isNear ? ["associated-node"] : []), "arbitrary-node"].map((from) => `${from}:${attributes.verb}`);
  const faults = [];
  for (const name of changedDrivers(next.devices, old.devices)) {
    let refusal: string | undefined;
    for (const verb of verbs) {
      const found = await refusalOf(authorizer, { ...attributes, verb, name });
      if (found === undefined) refusal = undefined;
      else refusal ??= found;
      if (found === undefined) break;
    }
    if (refusal === undefined) continue;
    const needed = `resource="resourceclaims/driver", verb="[${verbs.join(" ")}]" permission`;
    faults.push(forbiddenError("status.devices", `changing status.devices requires ${needed}: ${refusal}`));
  }
  return faults;
}

function changedDrivers(
  next: readonly AllocatedDeviceStatus[] = [],
  old: readonly AllocatedDeviceStatus[] = [],
): readonly string[] {
  const before = new Map(old.map((device) => [placeOf(device), device]));
  const after = new Set(next.map(placeOf));
  const changed = next.filter((device) => !isSame(before.get(placeOf(device)), device));
  const gone = old.filter((device) => !after.has(placeOf(device)));
  return [...new Set([...changed, ...gone].map(({ driver = "" }) => driver))].toSorted();
}

/** The one node of an allocation; "" if it is not of one. */
function nodeOf(allocation: AllocationResult | undefined): string {
  const [term = null, ...others] = listAt(allocation?.nodeSelector, "nodeSelectorTerms");
  const [field = null, ...more] = listAt(term, "matchFields");
  const [value, ...rest] = listAt(field, "values");
  const isOne =
    others.length === 0 &&
    more.length === 0 &&
    rest.length === 0 &&
    listAt(term, "matchExpressions").length === 0 &&
    textAt(field, "key") === "metadata.name" &&
    textAt(field, "operator") === "In";
  return isOne && typeof value === "string" ? value : "";
}

const NODE_NAME = "authentication.kubernetes.io/node-name";

function isOnNode({ name, extra = {} }: UserInfo, node: string): boolean {
  const nodes = extra[NODE_NAME] ?? [];
  return node !== "" && /^system:serviceaccount:[^:]+:[^:]+$/.test(name) && nodes.length === 1 && nodes[0] === node;
}

export async function statusPermissionFaults(
  next: ResourceClaimStatus = {},
  old: ResourceClaimStatus = {},
  permissions: ClaimPermissions,
  context: RequestContext,
): Promise<Faults> {
  return [
    ...(await allocatedAdminFaults(next, old, permissions, context)),
    ...(await bindingFaults(next, old, permissions, context)),
    ...(next.allocation === undefined ? [] : await driverFaults(next, old, permissions, context)),
  ];
}
