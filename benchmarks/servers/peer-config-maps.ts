// ConfigMaps of a peer that requests through the proxy read: a short one, named as the bare server names its own, and some long ones.

import type { Target } from "../load/order.ts";
import { askText, RefusedError } from "./ask-text.ts";

export const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const LABEL = { key: "answer", value: "long" };
const LONG_MAPS = 5;
/** An object of Kubernetes has at most 1.5 MB, of which a ConfigMap holds 1 MiB. */
const LONG_BYTES = 1_000_000;

/** On the bare server, the number of bytes is in the name. */
export const SHORT_ANSWER = `${CONFIG_MAPS}/bytes-700`;
/** 5 MB, by a peer. */
export const LONG_LIST = `${CONFIG_MAPS}?labelSelector=${LABEL.key}%3D${LABEL.value}`;

/** Creates those that are missing. */
export async function createPeerConfigMaps(peer: Target): Promise<void> {
  await create(peer, "bytes-700", 700, {});
  for (let number = 0; number < LONG_MAPS; number++) {
    await create(peer, `long-${number}`, LONG_BYTES, { [LABEL.key]: LABEL.value });
  }
}

async function create(peer: Target, name: string, bytes: number, labels: Readonly<Record<string, string>>) {
  const object = { metadata: { name, labels }, data: { text: "x".repeat(bytes) } };
  try {
    await askText(peer, "POST", CONFIG_MAPS, JSON.stringify(object));
  } catch (error) {
    if (!(error instanceof RefusedError && error.status === 409)) throw error;
  }
}
