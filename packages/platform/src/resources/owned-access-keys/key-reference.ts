// How other objects name an access key as their owner: they go with it.

import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { OwnerReference } from "@postern/apimachinery/meta/object-meta";
import type { AccessKeyState } from "../../access-keys/access-key-state.ts";
import type { PlatformNames } from "../../platform-names.ts";

export const keyReference = (
  { name, uid }: Pick<AccessKeyState, "name" | "uid">,
  { managementGroup }: Pick<PlatformNames, "managementGroup">,
): OwnerReference => ({
  apiVersion: formatApiVersion({ group: managementGroup, version: "v1" }),
  kind: "OwnedAccessKey",
  name,
  uid,
});
