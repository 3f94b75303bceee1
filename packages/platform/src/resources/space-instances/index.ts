// SpaceInstances: namespaces of connected clusters, for projects.

import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { invalidError } from "@postern/apimachinery/validation/field-error";
import { nameIsDNSLabel } from "@postern/apimachinery/validation/object-name";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import { ageColumn } from "@postern/apiserver/builtin/builtin-resource";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";
import { EMBEDDED_CLUSTER } from "../../api/cluster.ts";
import { withFinalizer } from "../../api/finalizers.ts";
import { type SpaceInstance, spaceInstanceFields } from "../../api/space-instance.ts";
import type { Directory } from "../../directory/directory.ts";
import type { PlatformNames } from "../../platform-names.ts";
import { callerAsOwner } from "../caller-as-owner.ts";
import { extendedView } from "../extended-view.ts";
import { checkInstanceGrants, type InstanceGrantsDeps } from "../instance-grants.ts";
import { type PlacementDeps, validatePlacement, validateSamePlacement } from "../placement.ts";
import { instanceLimits, type ProjectLimitsDeps } from "../project-limits.ts";
import { stateColumns } from "../state-columns.ts";
import {
  type NameDeps,
  type NamedObject,
  namedCluster,
  namedInRules,
  namedOwner,
  type UnknownNamesDeps,
  warningOfUnknownNames,
} from "../unknown-names.ts";

export type SpaceInstancesDeps = SpaceInstanceStrategyDeps & {
  readonly authorizer: Authorizer;
  readonly visibility: ObjectVisibility;
};

export const spaceInstances = (deps: SpaceInstancesDeps): ResourceDefinition =>
  defineResource({
    group: deps.names.managementGroup,
    version: "v1",
    kind: "SpaceInstance",
    plural: "spaceinstances",
    singular: "spaceinstance",
    shortNames: ["spi"],
    namespaced: true,
    schema: kindSchema(spaceInstanceFields.schema),
    hasStatus: true,
    columns: [
      { name: "Cluster", type: "string", description: "Cluster of the space.", value: ".spec.clusterRef.cluster" },
      {
        name: "Namespace",
        type: "string",
        description: "Name of the namespace in the cluster.",
        value: ".spec.clusterRef.namespace",
      },
      { name: "Phase", type: "string", description: "Phase.", value: ".status.phase" },
      ...stateColumns,
      ageColumn,
    ],
    strategy: spaceInstanceStrategy(deps),
    visibility: deps.visibility,
    extend: extendedView(deps.authorizer),
  });

// What happens to a space instance on its way into the store.

type SpaceInstanceStrategyDeps = PlacementDeps &
  NameDeps &
  UnknownNamesDeps &
  ProjectLimitsDeps &
  InstanceGrantsDeps & {
    readonly names: PlatformNames;
    readonly directory: Directory;
  };

/** Held until all that the space has is gone. */
export const spaceFinalizer = ({ key }: Pick<PlatformNames, "key">): string => key("space");

const spaceInstanceStrategy = (deps: SpaceInstanceStrategyDeps): Strategy<SpaceInstance> =>
  warningOfUnknownNames(strategyOf(deps), (instance) => namedIn(instance, deps), deps);

function* namedIn({ spec }: SpaceInstance, deps: NameDeps): Generator<NamedObject> {
  yield* namedOwner(spec?.owner, deps);
  yield* namedInRules("spec.access", spec?.access, deps);
  yield* namedInRules("spec.extraAccessRules", spec?.extraAccessRules, deps);
  yield* namedCluster("spec.clusterRef.cluster", spec?.clusterRef?.cluster ?? "", deps);
}

const strategyOf = (deps: SpaceInstanceStrategyDeps): Strategy<SpaceInstance> => ({
  limits: (instance, old) => instanceLimits("spaceinstances", instance, old, deps),
  validateName: nameIsDNSLabel,
  allowUnconditionalUpdate: true,

  async prepareForCreate(instance, context): Promise<SpaceInstance> {
    const { user } = context;
    await checkInstanceGrants("spaceinstances", instance, undefined, context, deps);
    const owner = instance.spec?.owner ?? callerAsOwner(user, deps);
    const { cluster = "", namespace = "" } = instance.spec?.clusterRef ?? {};
    const clusterRef = {
      cluster: cluster === "" ? EMBEDDED_CLUSTER : cluster,
      namespace: namespace === "" ? (instance.metadata.name ?? "") : namespace,
    };
    const spec = { ...instance.spec, ...(owner === undefined ? {} : { owner }), clusterRef };
    const created: SpaceInstance = { ...instance, spec, status: { phase: "Pending" } };
    return withFinalizer(created, spaceFinalizer(deps.names));
  },
  validate: async ({ metadata, spec }, { signal }) => [
    ...nameIsDNSLabel(spec?.clusterRef?.namespace ?? "", false).map((fault) =>
      invalidError("spec.clusterRef.namespace", spec?.clusterRef?.namespace, fault),
    ),
    ...(await validatePlacement(metadata.namespace ?? "", spec?.clusterRef?.cluster ?? "", deps, { signal })),
  ],

  async prepareForUpdate(instance, old, context) {
    if (context.info.subresource === "status") return withoutCallersView(instance);
    await checkInstanceGrants("spaceinstances", instance, old, context, deps);
    return {
      ...instance,
      spec: { ...instance.spec, clusterRef: { ...old.spec?.clusterRef, ...instance.spec?.clusterRef } },
    };
  },
  validateUpdate: ({ spec }, old) => validateSamePlacement(spec?.clusterRef ?? {}, old.spec?.clusterRef ?? {}),
});

/** The permissions of a caller are shown to that caller only. */
function withoutCallersView(instance: SpaceInstance): SpaceInstance {
  if (instance.status === undefined) return instance;
  const { canUse: _use, canUpdate: _update, ...status } = instance.status;
  return { ...instance, status };
}
