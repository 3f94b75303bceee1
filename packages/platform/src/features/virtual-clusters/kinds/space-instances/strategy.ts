// The strategy of space instances: checks and changes before one is stored.

import { EMBEDDED_CLUSTER } from "@postern/api/cluster";
import { withFinalizer } from "@postern/api/finalizers";
import type { PlatformNames } from "@postern/api/platform-names";
import type { SpaceInstance } from "@postern/api/space-instance";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import { type FieldError, forbiddenError, invalidError } from "@postern/apimachinery/validation/field-error";
import { nameIsDNSLabel } from "@postern/apimachinery/validation/object-name";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import type { Foundation } from "../../../../foundation/foundation.ts";
import { callerAsOwner } from "../../../access-keys/caller-as-owner.ts";
import { protectFinalizer } from "../../../authorization/protect-finalizer.ts";
import type { Directory } from "../../../directory/directory.ts";
import { type UnknownNamesDeps, warningOfUnknownNames } from "../../../directory/unknown-names.ts";
import { instanceLimits, mayRestrict } from "../../../projects/project-limits.ts";
import { withSleepingSince } from "../../sleep.ts";
import { checkInstanceGrants, type InstanceGrantsDeps } from "../instance-grants.ts";
import { namedInInstance } from "../named-in-instance.ts";
import { currentFaults, validatePlacement, validateSamePlacement } from "../placement.ts";

export type SpaceInstanceStrategyDeps = Pick<Foundation, "names" | "lookup"> &
  UnknownNamesDeps &
  InstanceGrantsDeps & { readonly directory: Directory };

/** Held until all that the space has is gone. */
export const spaceFinalizer = ({ key }: Pick<PlatformNames, "key">): string => key("space");

export const spaceInstanceStrategy = (deps: SpaceInstanceStrategyDeps): Strategy<SpaceInstance> =>
  warningOfUnknownNames(strategyOf(deps), (instance) => namedInInstance(instance, deps), deps);

const strategyOf = (deps: SpaceInstanceStrategyDeps): Strategy<SpaceInstance> => ({
  limits: (instance, old) => instanceLimits("spaceinstances", instance, old, deps),
  validateName: nameIsDNSLabel,
  allowUnconditionalUpdate: true,

  async prepareForCreate(instance, context): Promise<SpaceInstance> {
    const { user, receivedAt } = context;
    await checkInstanceGrants("spaceinstances", instance, undefined, context, deps);
    await checkReservedMetadata(instance, undefined, context, deps);
    const owner = instance.spec?.owner ?? callerAsOwner(user, deps);
    const { cluster = "", namespace = "" } = instance.spec?.clusterRef ?? {};
    const clusterRef = {
      cluster: cluster === "" ? EMBEDDED_CLUSTER : cluster,
      namespace: namespace === "" ? (instance.metadata.name ?? "") : namespace,
    };
    const spec = { ...instance.spec, ...(owner === undefined ? {} : { owner }), clusterRef };
    const created: SpaceInstance = { ...instance, spec, status: { phase: "Pending" } };
    const { names } = deps;
    const sleeping = withSleepingSince(created, undefined, canSleep(created), { names, now: receivedAt });
    return withFinalizer(sleeping, spaceFinalizer(names));
  },
  validate: async ({ metadata, spec }, { signal }) => [
    ...nameIsDNSLabel(spec?.clusterRef?.namespace ?? "", false).map((fault) =>
      invalidError("spec.clusterRef.namespace", spec?.clusterRef?.namespace, fault),
    ),
    ...validateOwnNamespace(metadata.namespace ?? "", spec?.clusterRef ?? {}, deps.names),
    ...(await currentFaults(
      () => validatePlacement(metadata.namespace ?? "", spec?.clusterRef?.cluster ?? "", deps),
      deps,
      signal,
    )),
  ],

  async prepareForUpdate(instance, old, context) {
    if (context.info.subresource === "status") return withoutCallersView(instance);
    await checkInstanceGrants("spaceinstances", instance, old, context, deps);
    await checkReservedMetadata(instance, old, context, deps);
    const clusterRef = { ...old.spec?.clusterRef, ...instance.spec?.clusterRef };
    const placed = { ...instance, spec: { ...instance.spec, clusterRef } };
    const { names } = deps;
    const sleeping = withSleepingSince(placed, old, canSleep(placed), { names, now: context.receivedAt });
    return protectFinalizer(sleeping, old, spaceFinalizer(names), context);
  },
  validateUpdate: ({ spec }, old) => validateSamePlacement(spec?.clusterRef ?? {}, old.spec?.clusterRef ?? {}),
});

const canSleep = ({ spec }: SpaceInstance): boolean => spec?.clusterRef?.cluster === EMBEDDED_CLUSTER;

/** In a connected cluster, namespaces with the names of project namespaces belong to virtual clusters. */
function validateOwnNamespace(
  projectNamespace: string,
  { cluster = "", namespace = "" }: NonNullable<NonNullable<SpaceInstance["spec"]>["clusterRef"]>,
  names: Pick<PlatformNames, "projectOf">,
): readonly FieldError[] {
  const project = names.projectOf(namespace);
  if (cluster === EMBEDDED_CLUSTER || project === undefined || namespace === projectNamespace) return [];
  const text = `namespaces with this name are for the virtual clusters of the project ${JSON.stringify(project)}`;
  return [forbiddenError("spec.clusterRef.namespace", text)];
}

/** Domains of labels and annotations that Kubernetes and the platform reserve: some of them lift security rules of a cluster. */
const RESERVED_DOMAINS: readonly string[] = ["kubernetes.io", "k8s.io"];
/** Domains of labels by which applications describe themselves. */
const OPEN_DOMAINS: readonly string[] = ["app.kubernetes.io"];

function isReservedKey(key: string, { domain }: Pick<PlatformNames, "domain">): boolean {
  const prefix = key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
  if (prefix === "" || OPEN_DOMAINS.includes(prefix)) return false;
  return [...RESERVED_DOMAINS, domain].some((reserved) => prefix === reserved || prefix.endsWith(`.${reserved}`));
}

/** Throws 403 for labels and annotations of a namespace in a connected cluster which its tenants may not choose. */
async function checkReservedMetadata(
  instance: SpaceInstance,
  old: SpaceInstance | undefined,
  context: RequestContext,
  deps: SpaceInstanceStrategyDeps,
): Promise<void> {
  const { names } = deps;
  const { cluster = "" } = old?.spec?.clusterRef ?? instance.spec?.clusterRef ?? {};
  if (cluster === "" || cluster === EMBEDDED_CLUSTER) return;
  const keysOf = (from: SpaceInstance | undefined): readonly (readonly [field: string, key: string, value: string])[] =>
    (["labels", "annotations"] as const).flatMap((field) =>
      Object.entries(from?.spec?.template?.metadata?.[field] ?? {}).map(([key, value]) => [field, key, value] as const),
    );
  const before = new Set(keysOf(old).map((entry) => JSON.stringify(entry)));
  const added = keysOf(instance).find((entry) => isReservedKey(entry[1], names) && !before.has(JSON.stringify(entry)));
  if (added === undefined) return;
  const project = names.projectOf(instance.metadata.namespace ?? "") ?? "";
  if (await mayRestrict(project, context, deps)) return;
  const [field, key] = added;
  throw forbiddenRequestError(
    { group: names.managementGroup, resource: "spaceinstances" },
    instance.metadata.name ?? "",
    `spec.template.metadata.${field}: ${JSON.stringify(key)} in a connected cluster requires the verb restrict on project ${JSON.stringify(project)}`,
  );
}

/** The permissions of a caller are shown to that caller only. */
function withoutCallersView(instance: SpaceInstance): SpaceInstance {
  if (instance.status === undefined) return instance;
  const { canUse: _use, canUpdate: _update, ...status } = instance.status;
  return { ...instance, status };
}
