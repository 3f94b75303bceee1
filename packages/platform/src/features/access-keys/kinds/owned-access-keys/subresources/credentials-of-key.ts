// The key, and all credentials created with it.

import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ResourceStorage } from "@postern/apiserver/registry/resource-storage";
import type { AccessKeyIndex } from "../../../index/access-key-index.ts";
import type { CredentialSubject } from "../../credentials-subresource.ts";
import { visibleKey } from "./visible-key.ts";

export async function credentialsOfKey(
  context: RequestContext,
  { keys, ownKeys }: { readonly keys: AccessKeyIndex; readonly ownKeys: () => Pick<Required<ResourceStorage>, "get"> },
): Promise<CredentialSubject> {
  const { metadata } = await visibleKey(context, ownKeys());
  const key = keys.byUid(metadata.uid ?? "");
  return { keys: key === undefined ? [] : [key], certificates: [] };
}
