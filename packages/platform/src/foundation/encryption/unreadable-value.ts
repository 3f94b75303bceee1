// The placeholder for a Secret that cannot be decrypted: its name, and the reason. It can be replaced and deleted.

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
