// Finds the resource of a request, and the handler of its verb.
// Source: k8s.io/apiserver/pkg/endpoints/installer.go

import {
  badRequestError,
  methodNotAllowedError,
  notFoundError,
  resourceNotFoundError,
} from "@postern/apimachinery/meta/api-error";
import type { Handler, RequestContext } from "../context/request-context.ts";
import {
  groupResourceOf,
  PART_VERBS,
  type ResourceDefinition,
  type ResourceVerb,
} from "../registry/resource-definition.ts";
import type { InstalledResource, ResourceRegistry } from "../registry/resource-registry.ts";
import type { RequestInfo } from "../request/request-info.ts";
import { servedSubresources } from "./discovery/served-resource.ts";
import type { EndpointContext, VerbHandler } from "./endpoint-context.ts";
import { handleSubresource } from "./handlers/connect.ts";
import { handleCreate } from "./handlers/create.ts";
import { handleDelete } from "./handlers/delete.ts";
import { handleDeleteCollection } from "./handlers/delete-collection.ts";
import { handleGet } from "./handlers/get.ts";
import { handleList } from "./handlers/list.ts";
import { handlePatch } from "./handlers/patch.ts";
import { handleScale } from "./handlers/scale.ts";
import { handleUpdate } from "./handlers/update.ts";
import { handleWatch } from "./handlers/watch.ts";
import { refuseUnroutable } from "./negotiation/refuse-unroutable.ts";
import { unservedVerbError } from "./unserved-verb-error.ts";

const HANDLERS: { readonly [verb in ResourceVerb]: VerbHandler } = {
  create: handleCreate,
  get: handleGet,
  list: handleList,
  watch: handleWatch,
  update: handleUpdate,
  patch: handlePatch,
  delete: handleDelete,
  deletecollection: handleDeleteCollection,
};

/** Answers every request for a resource; `otherwise` answers all others. Throws 404 and 405 as Kubernetes words them. */
export function createResourceRouter(
  registry: ResourceRegistry,
  endpoint: EndpointContext,
  otherwise: Handler = refuse,
): Handler {
  return (context) => {
    const { isResourceRequest, apiGroup, apiVersion, resource: plural, subresource } = context.info;
    if (!isResourceRequest || !registry.hasGroup(apiGroup)) return otherwise(context);
    const resource = registry.find(apiGroup, apiVersion, plural);
    if (resource === undefined) throw resourceNotFoundError();
    checkRoute(resource.definition, context);
    checkScope(resource.definition, context);
    const { deprecationWarning } = resource.definition;
    if (deprecationWarning !== undefined) context.warnings.add(deprecationWarning);
    if (subresource !== "") return routeSubresource(context, resource, subresource, endpoint);
    return routeVerb(context, resource, endpoint);
  };
}

const refuse: Handler = () => {
  throw resourceNotFoundError();
};

/** Whether there is the resource or subresource that a request names. */
export const servesResource =
  (registry: ResourceRegistry) =>
  ({
    apiGroup,
    apiVersion,
    resource,
    subresource,
  }: Pick<RequestInfo, "apiGroup" | "apiVersion" | "resource" | "subresource">): boolean => {
    const definition = registry.find(apiGroup, apiVersion, resource)?.definition;
    if (definition === undefined) return false;
    return subresource === "" || servedSubresources(definition).some(({ name }) => name === subresource);
  };

/** Built-in kinds have a route for each thing that can be done and no other: what custom resources refuse later is a 405 here. */
function checkRoute({ strategicMergePatch, namespaced }: ResourceDefinition, { info, request }: RequestContext): void {
  if (strategicMergePatch !== true) return;
  const { verb, name, namespace, subresource } = info;
  const isRead = verb === "list" || verb === "watch";
  const isAcrossNamespaces = namespaced && namespace === "" && nameInPath(info) === "";
  const needsName = (verb === "update" || verb === "patch") && name === "" && subresource === "";
  // The verb in `/api/v1/watch/pods` says nothing about the method.
  const isNoRead = isRead && request.method !== "GET";
  if (request.method === "HEAD" || isNoRead || needsName || (isAcrossNamespaces && !isRead))
    throw methodNotAllowedError();
  refuseUnroutable(request, isRead);
}

/** A cluster-scoped resource has no namespace in its path, and a namespaced object has one. */
function checkScope({ namespaced }: ResourceDefinition, { info }: RequestContext): void {
  const { namespace, name, verb } = info;
  // A list or watch also carries the name that its field selector selects.
  const namesObject = nameInPath(info) !== "";
  // A namespace itself is found in its own: `/api/v1/namespaces/x` carries x as both.
  const isNamespaceItself = info.apiGroup === "" && info.resource === "namespaces" && namespace === name;
  if (!namespaced && namespace !== "" && !isNamespaceItself) throw resourceNotFoundError();
  const acrossNamespaces = verb === "list" || verb === "watch";
  if (namespaced && namespace === "" && (namesObject || !acrossNamespaces)) throw resourceNotFoundError();
}

const nameInPath = ({ parts }: RequestContext["info"]): string => parts[1] ?? "";

function routeVerb(context: RequestContext, resource: InstalledResource, endpoint: EndpointContext) {
  const { definition } = resource;
  const { verb, name } = context.info;
  if (verb === "create" && name !== "") throw methodNotAllowedError();
  if ((verb === "update" || verb === "patch") && name === "") throw badRequestError("name must be provided");
  if (!isResourceVerb(verb) || !isServed(definition, verb)) throw unservedVerbError(definition, verb);
  return HANDLERS[verb](context, resource, endpoint);
}

/** False for HTTP methods that are no verb of any resource. */
const isResourceVerb = (verb: string): verb is ResourceVerb => Object.hasOwn(HANDLERS, verb);

const isServed = ({ verbs, submit }: ResourceDefinition, verb: ResourceVerb): boolean =>
  verbs?.includes(verb) ?? (submit === undefined || verb === "create");

async function routeSubresource(
  context: RequestContext,
  resource: InstalledResource,
  name: string,
  endpoint: EndpointContext,
) {
  const { definition } = resource;
  const { verb, parts, name: objectName } = context.info;
  const subresource = definition.subresources?.find((candidate) => candidate.name === name);
  const isBuiltIn = definition.strategicMergePatch === true;
  const isLeaf = parts.length === 3;
  // Only what takes the connection over may have paths of its own below it.
  const isAction = subresource?.updates === undefined || (verb === "create" && subresource.create !== undefined);
  if (subresource !== undefined && isAction && (isLeaf || subresource.connect !== undefined)) {
    return await handleSubresource(context, resource, subresource, endpoint);
  }
  // Custom resources are found by name and subresource alone, whatever follows.
  const isPart = isLeaf || !isBuiltIn;
  if (isPart && (subresource?.updates !== undefined || (name === "status" && definition.hasStatus === true))) {
    const served = (subresource?.verbs ?? PART_VERBS).find((each) => each === verb);
    if (served === undefined) throw unservedVerbError(definition, verb);
    return await HANDLERS[served](context, resource, endpoint);
  }
  if (isPart && name === "scale" && definition.scale !== undefined)
    return await handleScale(context, resource, endpoint);
  // Like upstream, a custom resource without such a subresource reports the object as missing, even if it exists.
  if (isBuiltIn || subresource !== undefined) throw resourceNotFoundError();
  throw notFoundError(groupResourceOf(definition), objectName);
}
