// Recorded answers hold the rest: these faults are a 500 upstream.

import { expect, it } from "vitest";
import { openClusterSurface } from "../../../testing/cluster-surface.ts";

const NAMESPACE = "/api/v1/namespaces/default";

it.each<[object, string]>([
  [{ kind: "Node" }, "target.name: Required value"],
  [{ kind: "Pod", name: "x" }, 'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"'],
])("refuses a binding to %j as invalid", async (target, fault) => {
  await using cluster = await openClusterSurface();
  for (const path of [`${NAMESPACE}/pods/p/binding`, `${NAMESPACE}/bindings`]) {
    const { status, json } = await cluster.send({ method: "POST", path, json: { metadata: { name: "p" }, target } });
    expect([status, (json as { message: string }).message]).toEqual([422, `Binding "p" is invalid: ${fault}`]);
  }
});
