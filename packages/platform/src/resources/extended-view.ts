// `?extended=true` on a get or list of instances: tells the caller of each whether it may use and change it.

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { authorizationAttributesOf } from "@postern/apiserver/context/authorization-attributes";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ResourceStorage } from "@postern/apiserver/registry/resource-storage";

/** Anything but get and list goes through as it is. */
export function withExtendedView(storage: ResourceStorage, authorizer: Authorizer): ResourceStorage {
  const { get, list } = storage;
  return {
    ...storage,
    ...(get === undefined
      ? {}
      : {
          async get(context, ...rest) {
            const object = await get(context, ...rest);
            return isExtended(context) ? await extend(object, context, authorizer) : object;
          },
        }),
    ...(list === undefined
      ? {}
      : {
          async list(context, query) {
            const page = await list(context, query);
            if (!isExtended(context)) return page;
            const items = await Promise.all(page.items.map((item) => extend(item, context, authorizer)));
            return { ...page, items };
          },
        }),
  };
}

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
