// Deliberate differences from custom resources of kube-apiserver, and behaviours without a case.

export type Decision = {
  /** Such as `D5`, by which other pages name it. */
  readonly id: string;
  readonly reason: string;
};

/** By the id of the behaviour. Its cases hold the server to the decision. */
export const DECIDED_OTHERWISE: { readonly [id: string]: Decision } = {
  "E-11": {
    id: "D1",
    reason: "a body without kind or apiVersion gets them from the path, as for built-in kinds; wrong ones are refused",
  },
  "G-08": {
    id: "D5",
    reason: "the error is 422, and the required permission is to delete the owner: that is the contract of the product",
  },
  "R-07": {
    id: "D6",
    reason:
      "an unknown path below a served group is answered with a Status, as for built-in kinds, and not with plain text as for custom resources",
  },
};

/** By the id of the behaviour, only where the surface that it speaks of does not exist here. */
export const WITHOUT_CASE: { readonly [id: string]: string } = {};

/** Behaviours whose cases are still to be written. The list only ever shrinks. */
export const CASES_TO_COME: readonly string[] = [];
