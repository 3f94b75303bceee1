import type { AccessPolicy } from "@postern/api/access-policy";
import { expect, it } from "vitest";
import {
  durationsUpTo,
  type Offer,
  offerAt,
  offersFor,
  placeId,
  placesOf,
  policyId,
  rolesAt,
  specOfAsk,
} from "./ask-draft.ts";

const offer = (spec: object, project = ""): Offer => ({
  id: policyId(project, "oncall"),
  project,
  policy: {
    metadata: { name: "oncall" },
    spec: { requesters: { users: ["ann"] }, targets: [], maxDurationSeconds: 3600, ...spec },
  } as unknown as AccessPolicy,
});

it.each([
  ["a user", { users: ["ann"] }, true],
  ["a team", { teams: ["web"] }, true],
  ["others", { users: ["ben"], teams: ["mobile"] }, false],
  ["an expression, which the server evaluates", { expression: "true" }, true],
])("offers a policy for %s", (_what, requesters, isOffered) => {
  expect(offersFor([offer({ requesters })], { user: "ann", teams: ["web"] })).toHaveLength(isOffered ? 1 : 0);
  expect(offersFor([offer({ requesters, disabled: true })], { user: "ann", teams: ["web"] })).toEqual([]);
});

const SEEN = {
  projects: ["shop", "mail"],
  clusters: [
    { project: "shop", name: "dev", labels: { stage: "test" } },
    { project: "shop", name: "production", labels: {} },
  ],
};

it.each([
  [{ kind: "VirtualCluster", projects: ["shop"], names: ["dev", "gone"], roles: ["view"] }, ["shop/dev", "shop/gone"]],
  [{ kind: "VirtualCluster", projects: ["*"], selector: { matchLabels: { stage: "test" } } }, ["shop/dev"]],
  [{ kind: "Project", projects: ["*"] }, ["shop", "mail"]],
  [{ kind: "Project" }, []],
  [{ kind: "Cluster", names: ["eu-west"] }, [":eu-west"]],
])("finds the places of %j", (target, ids) => {
  expect(placesOf(offer({ targets: [target] }), SEEN).map(placeId)).toEqual(ids);
});

it("finds the first policy with a place, as the lists of all places do", () => {
  const offers = [
    offer({ targets: [{ kind: "Cluster", names: ["eu-west"] }] }),
    offer({ targets: [{ kind: "VirtualCluster", projects: ["*"], selector: { matchLabels: { stage: "test" } } }] }),
    offer({ targets: [{ kind: "VirtualCluster", projects: ["*"], names: ["production"] }] }),
    offer({ targets: [{ kind: "Project" }, { kind: "VirtualCluster" }] }, "shop"),
    offer({ targets: [{ kind: "Project", projects: ["*", "hidden"] }] }),
    offer({ targets: [{ kind: "Project", projects: ["hidden"] }] }),
  ];
  const places = ["shop", "mail", "hidden", "gone"].flatMap((project) =>
    ["", "dev", "production"].map((virtualCluster) => ({ project, virtualCluster, cluster: "" })),
  );
  for (const place of [...places, { project: "", virtualCluster: "", cluster: "eu-west" }]) {
    const expected = offers.find((each) => placesOf(each, SEEN).some((found) => placeId(found) === placeId(place)));
    expect(offerAt(offers, place, SEEN)).toBe(expected);
  }
});

it("takes the project of the policy where a target names none, and the roles of the kind of place", () => {
  const own = offer(
    {
      targets: [
        { kind: "Project", roles: ["postern:project-user"] },
        { kind: "VirtualCluster", names: ["dev"], roles: ["view", "edit"] },
        { kind: "VirtualCluster", roles: ["view"] },
      ],
    },
    "shop",
  );
  const [project, dev, production] = placesOf(own, SEEN);
  expect([project, dev, production].map((place) => place && rolesAt(own, place))).toEqual([
    ["postern:project-user"],
    ["view", "edit"],
    ["view"],
  ]);
});

it("offers durations up to the longest, which is one of them", () => {
  expect(durationsUpTo(3_600)).toEqual([900, 1_800, 3_600]);
  expect(durationsUpTo(600)).toEqual([600]);
});

it("asks for what is chosen, without empty members", () => {
  const draft = {
    ...{ name: "x", policy: policyId("", "oncall"), project: "shop", virtualCluster: "dev", cluster: "" },
    ...{ role: "view", duration: "900", reason: "OPS-1", emergency: false },
  };
  expect(specOfAsk(draft)).toEqual({
    policy: { name: "oncall" },
    target: { project: "shop", virtualCluster: "dev" },
    role: "view",
    reason: "OPS-1",
    durationSeconds: 900,
  });
  expect(specOfAsk({ ...draft, policy: policyId("shop", "own") })["policy"]).toEqual({
    kind: "AccessPolicy",
    name: "own",
  });
});
