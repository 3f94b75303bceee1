import { expect, it } from "vitest";
import { fileOf, rememberedWish, textOfWish, USUAL_WISH } from "./kubeconfig-wish.ts";

it("is read as it was remembered", () => {
  const wish = { ...USUAL_WISH, kind: "certificate", isReadOnly: true } as const;
  expect(rememberedWish(textOfWish(wish))).toEqual(wish);
});

it.each(["", "token", "password 3600 true false", "token forever false false"])("has none in %j", (text) => {
  expect(rememberedWish(text)).toBeUndefined();
});

it("saves clusters of the same name in different files", () => {
  const cluster = { apiVersion: "management.postern/v1", kind: "VirtualClusterInstance" };
  expect(fileOf({ ...cluster, metadata: { namespace: "p-shop", name: "dev" } })).toBe("shop-dev.kubeconfig");
});
