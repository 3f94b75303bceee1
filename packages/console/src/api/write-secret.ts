// Writes one value into a Secret, and asks whether a Secret is there. No page reads a value.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { ApiClient } from "@postern/client/api-client";
import { createResourceClient } from "@postern/client/resource-client";
import { inNamespace, NAMESPACES, SECRETS } from "./resources.ts";

const METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/** `field`: the key in the Secret. */
export type SecretPlace = { readonly namespace: string; readonly name: string; readonly field: string };

/** Creates the Secret and its namespace if they are missing; other keys of the Secret stay. Rejects with an ApiError. */
export async function writeSecret(client: ApiClient, place: SecretPlace, value: string): Promise<void> {
  const { namespace, name, field } = place;
  const secrets = createResourceClient(client, inNamespace(SECRETS, namespace));
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, stringData: { [field]: value } };
  const write = () => secrets.apply(name, secret, { fieldManager: "console", force: true });
  try {
    await write();
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw error;
    await createResourceClient(client, NAMESPACES).create({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace },
    });
    await write();
  }
}

/** Reads the metadata alone: the value stays on the server. Rejects with an ApiError. */
export async function hasSecret(client: ApiClient, place: SecretPlace, signal: AbortSignal): Promise<boolean> {
  const { namespace, name } = place;
  try {
    await client.request({
      method: "GET",
      path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`,
      accept: METADATA,
      signal,
    });
    return true;
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw error;
    return false;
  }
}
