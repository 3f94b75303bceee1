// The access key of a request for one of its subresources.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ResourceStorage } from "@postern/apiserver/registry/resource-storage";

/** Throws 404 where the caller does not see it. */
export async function visibleKey(
  context: RequestContext,
  ownKeys: Pick<Required<ResourceStorage>, "get">,
): Promise<OwnedAccessKey> {
  const object = await ownKeys.get(context, "", context.info.name, { resourceVersion: "" });
  // The store holds no other kind under this resource.
  return object.decode() as OwnedAccessKey;
}
