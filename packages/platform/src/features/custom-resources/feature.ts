// CustomResourceDefinitions of the management API, where the operator allows them.

import { CLUSTER_INVENTORY_GROUP } from "@postern/api/cluster-profile";
import { controlledResources } from "@postern/apiserver/controllers/controller-port";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import { createCompiledDefinitions } from "@postern/kubernetes/custom-resources/compiled-definitions";
import { createCustomResourceController } from "@postern/kubernetes/custom-resources/custom-resource-controller";
import { APIEXTENSIONS_GROUP } from "@postern/kubernetes/custom-resources/custom-resource-definition";
import { noCustomResourceDefinitions } from "@postern/kubernetes/custom-resources/no-custom-resource-definitions";
import { requiredResource } from "@postern/kubernetes/server/required-resource";
import type { Foundation } from "../../foundation/foundation.ts";
import { managementDefinitions, withShare } from "./management-definitions.ts";

export type CustomResources = {
  /** The kind CustomResourceDefinition, or the empty list that clients read where there are none. */
  readonly definitions: ResourceDefinition;
  /** Serves what is defined, until disposed: on every server, as in embedded clusters. */
  serve(registry: ResourceRegistry): Disposable;
};

/** `own`: the kinds of the server, in whose groups nothing can be defined. */
export function createCustomResources(base: Foundation, own: readonly ResourceDefinition[]): CustomResources {
  if (!base.configuration.customResources.enabled) {
    return { definitions: noCustomResourceDefinitions, serve: () => ({ [Symbol.dispose]: () => undefined }) };
  }
  const compiled = createCompiledDefinitions();
  const groups = new Set([...own.map(({ group }) => group), noCustomResourceDefinitions.group]);
  // Others of its kinds may be defined, such as PlacementDecision.
  groups.delete(CLUSTER_INVENTORY_GROUP);
  return {
    definitions: managementDefinitions(compiled, groups, () => {
      const { view, keys } = base.installed(APIEXTENSIONS_GROUP, "CustomResourceDefinition");
      return view.count(keys.prefix);
    }),
    serve: (registry) =>
      createCustomResourceController(
        {
          resources: controlledResources(registry),
          runtime: base.runtime,
          onError: base.onError,
          queueMetrics: base.metrics.workQueues,
        },
        requiredResource(registry, APIEXTENSIONS_GROUP, "CustomResourceDefinition"),
        { registry, compiled, caller: undefined, adapt: (definition) => withShare(definition, registry) },
      ),
  };
}
