// `?extended=true` on a get or list of instances: adds whether the caller may use and change each.

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { authorizationAttributesOf } from "@postern/apiserver/context/authorization-attributes";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";

/** For the `extend` of a resource. */
export const callerPermissionsView =
  (authorizer: Authorizer) =>
  (object: CachedObject, context: RequestContext): Awaitable<CachedObject> =>
    isExtended(context) ? extend(object, context, authorizer) : object;

const isExtended = ({ request }: RequestContext): boolean => request.query.get("extended") === "true";

async function extend(cached: CachedObject, context: RequestContext, authorizer: Authorizer): Promise<CachedObject> {
  const object = cached.decode();
  const { namespace = "", name = "" } = object.metadata;
  const may = async (verb: string): Promise<boolean> => {
    const asked = { ...authorizationAttributesOf(context), verb, namespace, name, subresource: "" };
    return (await authorizer.authorize(asked)).verdict === "allow";
  };
  const status = isJsonObject(object["status"]) ? object["status"] : {};
  const seen = { ...object, status: { ...status, canUse: await may("use"), canUpdate: await may("update") } };
  return cached.withContent(seen);
}
