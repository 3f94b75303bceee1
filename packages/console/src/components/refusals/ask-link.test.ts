import { expect, it } from "vitest";
import { requestableAccess } from "./ask-link.tsx";

const REFUSED =
  'projects "shop" is forbidden: User "ann" cannot get resource "projects": you may ask for access: postern access request';

it.each([
  [
    "--policy oncall --virtual-cluster shop/dev --role view",
    { policy: "ClusterAccessPolicy//oncall", project: "shop", virtualCluster: "dev", role: "view" },
  ],
  [
    "--project-policy own --project shop --role admin",
    { policy: "AccessPolicy/shop/own", project: "shop", role: "admin" },
  ],
  ["--policy hosts --cluster eu-west", { policy: "ClusterAccessPolicy//hosts", cluster: "eu-west" }],
])("reads what a refusal offers: %s", (flags, asked) => {
  expect(requestableAccess(`${REFUSED} ${flags}`)).toEqual(asked);
});

it("offers nothing where the server does not", () => {
  expect(requestableAccess('User "ann" cannot get resource "projects"')).toBeUndefined();
});
