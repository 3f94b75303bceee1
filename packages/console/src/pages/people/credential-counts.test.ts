import { expect, test } from "vitest";
import { countCredentials } from "./credential-counts.ts";

test("counts the credentials of each sort", () => {
  const credentials = [
    { kind: "AccessKey", name: "ci", type: "User" },
    { kind: "AccessKey", name: "for-one", virtualCluster: "shop/dev" },
    { kind: "AccessKey", name: "login-7", type: "Login" },
    { kind: "AccessKey", name: "shop-dev-7", type: "Other", virtualCluster: "shop/dev" },
    { kind: "AccessKey", name: "generator-7", type: "Other" },
    { kind: "Certificate", virtualCluster: "shop/dev" },
    { kind: "Certificate", virtualCluster: "shop/far", enforcedBy: "Cluster" },
  ];
  expect(countCredentials(credentials)).toEqual({
    sessions: 1,
    kubeconfigs: 1,
    generators: 1,
    keys: 2,
    certificates: 1,
    elsewhere: 1,
  });
});
