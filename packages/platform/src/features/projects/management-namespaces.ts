// The namespace of a project goes with its project: nothing else deletes it, empties its finalizers, or takes it out of its project.

import type { PlatformNames } from "@postern/api/platform-names";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { namespaces } from "@postern/kubernetes/builtin/core/namespaces";
import type { ObjectLookup } from "../../foundation/lookup/object-lookup.ts";
import { isServerItself } from "../authorization/key-standing.ts";

/** Namespaces of the management API. A namespace that is left without its project is like any other. */
export function managementNamespaces(deps: {
  readonly names: PlatformNames;
  readonly lookup: Pick<ObjectLookup, "project">;
}): ResourceDefinition {
  const { names, lookup } = deps;
  const { strategy = {} } = namespaces;
  const check = ({ metadata: { name = "" } }: KubeObject, context: RequestContext, why: string): void => {
    const project = names.projectOf(name);
    if (project === undefined || isServerItself(context) || lookup.project(project) === undefined) return;
    throw forbiddenRequestError(
      { group: "", resource: "namespaces" },
      name,
      `it belongs to the project ${JSON.stringify(project)}: ${why}`,
    );
  };
  // The garbage collector deletes what its owner left behind; label and annotation say whose namespace it is.
  const heldBy = ({ metadata: { ownerReferences = [], labels = {}, annotations = {} } }: KubeObject) => [
    ownerReferences.map(({ apiVersion, kind, name, uid }) => ({ apiVersion, kind, name, uid })),
    labels[names.key("project")] ?? "",
    annotations[names.key("project-uid")] ?? "",
  ];
  return {
    ...namespaces,
    strategy: {
      ...strategy,
      prepareForUpdate(namespace, old, context) {
        if (context.info.subresource === "finalize")
          check(old, context, "its finalizers are removed when the project is deleted");
        if (!equalJson(heldBy(namespace), heldBy(old)))
          check(old, context, "its owner references, project label and project UID cannot be changed");
        return strategy.prepareForUpdate?.(namespace, old, context) ?? namespace;
      },
      prepareForDelete(namespace, context) {
        check(namespace, context, "delete the project instead");
        return strategy.prepareForDelete?.(namespace, context) ?? namespace;
      },
    },
  };
}
