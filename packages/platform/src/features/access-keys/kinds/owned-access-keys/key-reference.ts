// The owner reference to an access key: objects with it are deleted with the key.

import type { PlatformNames } from "@postern/api/platform-names";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { OwnerReference } from "@postern/apimachinery/meta/object-meta";
import type { AccessKeyState } from "../../access-key-state.ts";

export const keyReference = (
  { name, uid }: Pick<AccessKeyState, "name" | "uid">,
  { managementGroup }: Pick<PlatformNames, "managementGroup">,
): OwnerReference => ({
  apiVersion: formatApiVersion({ group: managementGroup, version: "v1" }),
  kind: "OwnedAccessKey",
  name,
  uid,
});
