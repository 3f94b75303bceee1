// The virtual cluster that every new server has, and a key for it.

import type { Target } from "../load/order.ts";
import { GROUP } from "./access-key-object.ts";
import { askText } from "./ask-text.ts";

const DEMO = "/kubernetes/project/default/virtualcluster/demo";
export const INSTANCE = `/apis/${GROUP}/v1/namespaces/p-default/virtualclusterinstances/demo`;
export const CONFIG_MAPS = `${DEMO}/api/v1/namespaces/default/configmaps`;

/** The server for the holder of a kubeconfig of the virtual cluster. */
export async function openVirtualCluster(target: Target): Promise<Target> {
  const answer = JSON.parse(await askText(target, "POST", `${INSTANCE}/kubeconfig`, "{}"));
  const token = /token: (\S+)/.exec(answer.status.kubeConfig)?.[1];
  if (token === undefined) throw new Error("the kubeconfig has no token");
  return { ...target, token };
}
