// The strategy of virtual cluster instances.

import { EMBEDDED_CLUSTER } from "@postern/api/cluster";
import { withFinalizer } from "@postern/api/finalizers";
import type { PlatformNames } from "@postern/api/platform-names";
import {
  isRunByOthers,
  type VirtualClusterInstance,
  type VirtualClusterInstanceSpec,
} from "@postern/api/virtual-cluster-instance";
import { allowsTemplate } from "@postern/api/virtual-cluster-template";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import {
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { nameIsDNSLabel } from "@postern/apimachinery/validation/object-name";
import { isValidPathSegmentName } from "@postern/apimachinery/validation/string-validators";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import type { Foundation } from "../../../../foundation/foundation.ts";
import { callerAsOwner } from "../../../access-keys/caller-as-owner.ts";
import { isServerItself } from "../../../authorization/key-standing.ts";
import { protectFinalizer } from "../../../authorization/protect-finalizer.ts";
import type { Directory } from "../../../directory/directory.ts";
import { type NamedObject, type UnknownNamesDeps, warningOfUnknownNames } from "../../../directory/unknown-names.ts";
import { instanceLimits, mayRestrict } from "../../../projects/project-limits.ts";
import { networkPeerWarnings } from "../../../proxy/network-peer.ts";
import { renderTemplate } from "../../render-template.ts";
import { withSleepingSince } from "../../sleep.ts";
import { checkInstanceGrants, type InstanceGrantsDeps } from "../instance-grants.ts";
import { namedInInstance } from "../named-in-instance.ts";
import { currentFaults, validatePlacement, validateSamePlacement } from "../placement.ts";

export type VirtualClusterInstanceStrategyDeps = Pick<Foundation, "names" | "lookup"> &
  UnknownNamesDeps &
  InstanceGrantsDeps & {
    readonly directory: Directory;
    /** Texts about the address of an instance that others run. Default: none. */
    readonly reached?: { addressWarnings(instance: VirtualClusterInstance): readonly string[] };
  };

/** Held until all that the virtual cluster has is gone. */
export const virtualClusterFinalizer = ({ key }: Pick<PlatformNames, "key">): string => key("virtual-cluster");

export const virtualClusterInstanceStrategy = (
  deps: VirtualClusterInstanceStrategyDeps,
): Strategy<VirtualClusterInstance> =>
  warningOfUnknownNames(strategyOf(deps), (instance) => namedIn(instance, deps), deps);

function* namedIn(
  instance: VirtualClusterInstance,
  deps: Pick<VirtualClusterInstanceStrategyDeps, "directory" | "lookup">,
): Generator<NamedObject> {
  yield* namedInInstance(instance, deps);
  const { spec } = instance;
  const template = spec?.templateRef?.name ?? "";
  if (template === "") return;
  yield {
    path: "spec.templateRef.name",
    kind: "VirtualClusterTemplate",
    resource: "virtualclustertemplates",
    name: template,
    exists: deps.lookup.virtualClusterTemplate(template) !== undefined,
    isPublic: true,
  };
}

const RECORDED_CONDITIONS: readonly string[] = ["ObjectsApplied", "TemplateApplied"];

const strategyOf = (deps: VirtualClusterInstanceStrategyDeps): Strategy<VirtualClusterInstance> => ({
  // The name becomes a part of host names and paths.
  validateName: nameIsDNSLabel,
  allowUnconditionalUpdate: true,

  async prepareForCreate(instance, context) {
    const { user, receivedAt } = context;
    await checkInstanceGrants("virtualclusterinstances", instance, undefined, context, deps);
    await checkTemplateRequired(instance, undefined, context, deps);
    const owner = instance.spec?.owner ?? callerAsOwner(user, deps);
    const spec = { ...instance.spec, ...(owner === undefined ? {} : { owner }), clusterRef: placed(instance) };
    const created: VirtualClusterInstance = { ...instance, spec, status: { phase: "Pending" } };
    const { names } = deps;
    const sleeping = withSleepingSince(created, undefined, canSleep(created), { names, now: receivedAt });
    return withFinalizer(sleeping, virtualClusterFinalizer(names));
  },
  validate: async (instance, { signal }) => [
    ...validateSpec(instance.spec),
    ...(await currentFaults(
      () => [...validatePlaced(instance, deps), ...validateTemplate(instance, undefined, deps)],
      deps,
      signal,
    )),
  ],
  limits: (instance, old) => instanceLimits("virtualclusterinstances", instance, old, deps),
  warningsOnCreate: (instance) => warningsOf(instance, deps),
  warningsOnUpdate: (instance) => warningsOf(instance, deps),

  async prepareForUpdate(instance, old, context) {
    if (context.info.subresource === "status") {
      const shown = withoutCallersView(instance);
      return isServerItself(context) ? shown : withRecords(shown, old);
    }
    await checkInstanceGrants("virtualclusterinstances", instance, old, context, deps);
    await checkTemplateRequired(instance, old, context, deps);
    // A client that sends back less than it was given does not move the virtual cluster.
    const clusterRef = { ...old.spec?.clusterRef, ...instance.spec?.clusterRef };
    const placedInstance = { ...instance, spec: { ...instance.spec, clusterRef } };
    const { names } = deps;
    const since = { names, now: context.receivedAt };
    const sleeping = withSleepingSince(placedInstance, old, canSleep(placedInstance), since);
    return protectFinalizer(sleeping, old, virtualClusterFinalizer(names), context);
  },
  validateUpdate: async (instance, old, { signal }) => [
    ...validateSpec(instance.spec),
    ...(await currentFaults(
      () => [...validateStaying(instance, old, deps), ...validateTemplate(instance, old, deps)],
      deps,
      signal,
    )),
  ],
});

const warningsOf = (
  instance: VirtualClusterInstance,
  { reached }: Pick<VirtualClusterInstanceStrategyDeps, "reached">,
): readonly string[] => [...networkPeerWarnings(instance), ...(reached?.addressWarnings(instance) ?? [])];

/** Placement, not a default: the reference says where the virtual cluster is from now on. */
function placed(instance: VirtualClusterInstance): NonNullable<VirtualClusterInstanceSpec["clusterRef"]> {
  const { metadata, spec } = instance;
  const { cluster = "", namespace = "", virtualCluster = "" } = spec?.clusterRef ?? {};
  const ownCluster = cluster === "" && !isRunByOthers(instance) ? EMBEDDED_CLUSTER : cluster;
  return {
    ...(ownCluster === "" ? {} : { cluster: ownCluster }),
    namespace: namespace === "" ? (metadata.namespace ?? "") : namespace,
    virtualCluster: virtualCluster === "" ? (metadata.name ?? "") : virtualCluster,
  };
}

/** One that others run need not be in a cluster that the platform knows. */
const validatePlaced = (
  instance: VirtualClusterInstance,
  deps: Pick<Foundation, "names" | "lookup">,
): readonly FieldError[] =>
  validatePlacement(instance.metadata.namespace ?? "", clusterOf(instance), deps, {
    isOptional: isRunByOthers(instance),
  });

/** An instance that is no longer external needs a cluster: only an empty cluster reference can be changed. */
function validateStaying(
  instance: VirtualClusterInstance,
  old: VirtualClusterInstance,
  deps: Pick<Foundation, "names" | "lookup">,
): readonly FieldError[] {
  const before = old.spec?.clusterRef ?? {};
  const isPlacedNow = clusterOf(old) === "" && clusterOf(instance) !== "";
  const expected = isPlacedNow ? { ...before, cluster: clusterOf(instance) } : before;
  const moved = validateSamePlacement(instance.spec?.clusterRef ?? {}, expected);
  if (moved.length > 0) return moved;
  const isNewToIt = isPlacedNow || (isRunByOthers(old) && !isRunByOthers(instance));
  return isNewToIt ? validatePlaced(instance, deps) : [];
}

const projectOf = ({ metadata }: VirtualClusterInstance, { names, lookup }: VirtualClusterInstanceStrategyDeps) =>
  lookup.project(names.projectOf(metadata.namespace ?? "") ?? "");

/** Checks only the fields that a write sets: a template that has changed since must not block other changes. */
function validateTemplate(
  instance: VirtualClusterInstance,
  old: VirtualClusterInstance | undefined,
  deps: VirtualClusterInstanceStrategyDeps,
): readonly FieldError[] {
  const refersTo = ({ spec }: VirtualClusterInstance): JsonValue => [spec?.templateRef ?? {}, spec?.parameters ?? ""];
  const name = instance.spec?.templateRef?.name ?? "";
  if (name === "" || (old !== undefined && equalJson(refersTo(instance), refersTo(old)))) return [];
  const project = projectOf(instance, deps);
  if (project !== undefined && !allowsTemplate(project, name)) {
    const text = `project ${JSON.stringify(project.metadata.name)} may not use template ${JSON.stringify(name)}: add it to spec.allowedTemplates of the project`;
    return [forbiddenError("spec.templateRef.name", text)];
  }
  return renderTemplate(instance, deps).faults;
}

/** Throws 403 where the project requires a template, and the caller may not change what it requires. */
async function checkTemplateRequired(
  instance: VirtualClusterInstance,
  old: VirtualClusterInstance | undefined,
  context: RequestContext,
  deps: VirtualClusterInstanceStrategyDeps,
): Promise<void> {
  const isFree = ({ spec }: VirtualClusterInstance): boolean =>
    (spec?.templateRef?.name ?? "") === "" || spec?.template !== undefined;
  const own = ({ spec }: VirtualClusterInstance): JsonValue => [spec?.template ?? null, spec?.templateRef ?? null];
  const isRequired = (): boolean => projectOf(instance, deps)?.spec?.requireTemplate?.disabled === false;
  if (!isRequired() || isRunByOthers(instance) || !isFree(instance)) return;
  // One that others ran was free of what the project requires.
  if (old !== undefined && !isRunByOthers(old) && equalJson(own(instance), own(old))) return;
  const project = deps.names.projectOf(instance.metadata.namespace ?? "") ?? "";
  if (await mayRestrict(project, context, deps)) return;
  // Another server or thread may have changed the project a moment ago.
  await deps.lookup.refresh(context.signal);
  if (!isRequired()) return;
  throw forbiddenRequestError(
    { group: deps.names.managementGroup, resource: "virtualclusterinstances" },
    instance.metadata.name ?? "",
    `project ${JSON.stringify(project)} requires a template: set spec.templateRef, and no spec.template`,
  );
}

const canSleep = (instance: VirtualClusterInstance): boolean =>
  clusterOf(instance) === EMBEDDED_CLUSTER && !isRunByOthers(instance);

const clusterOf = ({ spec }: VirtualClusterInstance): string => spec?.clusterRef?.cluster ?? "";

/** The permissions of a caller are shown to that caller only. */
function withoutCallersView(instance: VirtualClusterInstance): VirtualClusterInstance {
  if (instance.status === undefined) return instance;
  const { canUse: _use, canUpdate: _update, online: _online, ...status } = instance.status;
  return { ...instance, status };
}

function validateSpec(spec: VirtualClusterInstanceSpec | undefined): readonly FieldError[] {
  return (spec?.extraAccessRules ?? []).flatMap(({ clusterRole = "" }, index) => {
    const path = `${indexPath("spec.extraAccessRules", index)}.clusterRole`;
    if (clusterRole === "") return [requiredError(path)];
    return isValidPathSegmentName(clusterRole).map((fault) => invalidError(path, clusterRole, fault));
  });
}

/** Keeps the records of the controller: they decide what it applies inside with all permissions, so clients cannot write them. */
function withRecords(instance: VirtualClusterInstance, old: VirtualClusterInstance): VirtualClusterInstance {
  const {
    virtualCluster: _template,
    deployHash: _hash,
    serviceUID: _uid,
    conditions = [],
    ...status
  } = instance.status ?? {};
  const { virtualCluster, deployHash, serviceUID, conditions: before = [] } = old.status ?? {};
  const isRecord = ({ type }: { readonly type: string }): boolean => RECORDED_CONDITIONS.includes(type);
  const kept = [...conditions.filter((each) => !isRecord(each)), ...before.filter(isRecord)];
  return {
    ...instance,
    status: {
      ...status,
      ...(virtualCluster === undefined ? {} : { virtualCluster }),
      ...(deployHash === undefined ? {} : { deployHash }),
      ...(serviceUID === undefined ? {} : { serviceUID }),
      ...(kept.length === 0 ? {} : { conditions: kept }),
    },
  };
}
