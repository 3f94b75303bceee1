// What people see in place of a Secret that cannot be opened: its name, and why. It can be replaced and deleted like any other.

import { encodeStoredValue } from "@postern/apiserver/cache/cached-object";

/** `domain` is the platform's; `key` is where the value is in the store. */
export function unreadableSecret(domain: string, key: string, fault: string): Uint8Array {
  // /registry/<composition>/core/secrets/<namespace>/<name>
  const [, , , , , namespace = "", name = ""] = key.split("/");
  return encodeStoredValue({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace, annotations: { [`${domain}/unreadable`]: fault } },
  });
}
