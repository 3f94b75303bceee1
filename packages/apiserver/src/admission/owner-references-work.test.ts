// The work that many owner references in one object cost.

import { metaFaultsOf } from "@postern/apimachinery/validation/object-meta";
import { expect, it } from "vitest";
import type { AdmissionAttributes } from "../registry/admission-plugin.ts";
import { createOwnerReferencesAdmission } from "./owner-references.ts";

const KIND = { group: "", version: "v1", plural: "configmaps", namespaced: true };
const owners = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, at) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    name: `o-${at}`,
    uid: `u-${at}`,
    ...more,
  }));

it.each(["create", "update"] as const)(
  "of a %s looks its kinds up once, and each new blocking owner once",
  async (operation) => {
    let [kinds, decisions, comparisons, pauses] = [0, 0, 0, 0];
    const plugin = createOwnerReferencesAdmission({
      findKind: () => {
        kinds++;
        return KIND;
      },
      authorizer: {
        authorize: () => {
          decisions++;
          return { verdict: "allow", reason: "" };
        },
      },
    });
    const counted = (list: ReturnType<typeof owners>) =>
      list.map((owner) => ({
        ...owner,
        get uid() {
          comparisons++;
          return owner.uid;
        },
      }));
    const before = counted(owners(2_000, { blockOwnerDeletion: true }));
    const now = counted([
      ...owners(2_000, { blockOwnerDeletion: true }),
      { ...owners(1)[0], uid: "new", blockOwnerDeletion: true } as any,
    ]);
    const attributes = {
      operation,
      resource: KIND,
      subresource: "",
      namespace: "a",
      name: "n",
      object: { metadata: { name: "n", ownerReferences: now } },
      ...(operation === "update" ? { oldObject: { metadata: { name: "n", ownerReferences: before } } } : {}),
      context: { user: { name: "u", groups: [] }, pause: () => void pauses++ },
    } as unknown as AdmissionAttributes;
    await plugin.validate?.(attributes);
    expect(kinds).toBe(1);
    // Of an update, one asks whether the object itself may be deleted.
    expect([decisions, pauses]).toEqual(operation === "create" ? [2_001, 2_001] : [2, 1]);
    expect(comparisons).toBeLessThanOrEqual(20_000);
  },
);

it("prints all references for few of many controllers", () => {
  const printed = (count: number): number => {
    const metadata = { name: "n", namespace: "a", ownerReferences: owners(count, { controller: true }) };
    const faults = metaFaultsOf(metadata as any, "metadata").ownerReferences;
    return faults.reduce((sum, { message }) => sum + message.length, 0);
  };
  expect(printed(2_000)).toBeLessThan(2.2 * printed(1_000));
});
