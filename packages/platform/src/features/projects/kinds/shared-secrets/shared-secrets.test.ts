import { expect, it } from "vitest";
import { sharedSecrets } from "./index.ts";

it("sharedsecrets are served in namespaces, as clients ask for them", () => {
  expect(sharedSecrets({ managementGroup: "management.example.com" })).toMatchObject({
    kind: "SharedSecret",
    plural: "sharedsecrets",
    namespaced: true,
  });
});
