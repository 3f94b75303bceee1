import { expect, it } from "vitest";
import { RecentCertificates } from "./recent-certificates.ts";

const use = (id: string, name: string, target?: string) => ({
  credential: { id },
  user: { name, groups: [] },
  innerRequest: { info: undefined, annotations: target === undefined ? {} : { "proxy/target": target } },
});

it("knows where a certificate was used, and nothing of keys, spaces and the management API", () => {
  const certificates = new RecentCertificates();
  certificates.note(use("certificate:1", "jane", "virtualcluster/shop/dev"));
  certificates.note(use("certificate:2", "jane", "space/shop/dev"));
  certificates.note(use("certificate:3", "jane"));
  certificates.note(use("abc", "jane", "virtualcluster/shop/dev"));
  expect(certificates.find("certificate:1")).toEqual({ owner: "jane", virtualCluster: "shop/dev" });
  for (const id of ["certificate:2", "certificate:3", "abc"]) expect(certificates.find(id)).toBeUndefined();
});

it("forgets the oldest of ten thousand, which come back when they are used again", () => {
  const certificates = new RecentCertificates();
  const note = (index: number): void =>
    certificates.note(use(`certificate:${index}`, `user-${index}`, "virtualcluster/shop/dev"));
  for (let index = 0; index < 10_000; index++) note(index);
  const known = Array.from({ length: 10_000 }, (_, index) => certificates.find(`certificate:${index}`)).filter(Boolean);
  expect(known).toHaveLength(512);
  note(0);
  expect(certificates.find("certificate:0")?.owner).toBe("user-0");
});
