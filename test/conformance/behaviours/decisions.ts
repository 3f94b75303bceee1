// What is decided otherwise than kube-apiserver does for custom resources, and what has no case.

export type Decision = {
  /** Such as `D5`, by which other pages name it. */
  readonly id: string;
  readonly reason: string;
};

/** By the id of the behaviour. Its cases hold the server to the decision. */
export const DECIDED_OTHERWISE: { readonly [id: string]: Decision } = {
  "E-11": {
    id: "D1",
    reason:
      "a body without kind or apiVersion is taken for what its path says, as for built-in kinds; a wrong one is refused",
  },
  "G-08": {
    id: "D5",
    reason: "the refusal is 422, and the right asked for is to delete the owner: that is the contract of the product",
  },
  "R-07": {
    id: "D6",
    reason:
      "an unknown path below a served group is answered by a Status, as for built-in kinds, where custom resources have plain text",
  },
};

/** By the id of the behaviour, only where the surface that it speaks of does not exist here. */
export const WITHOUT_CASE: { readonly [id: string]: string } = {};

/** Behaviours whose cases are still to be written. The list only ever shrinks. */
export const CASES_TO_COME: readonly string[] = [
  "E-01",
  "E-02",
  "E-03",
  "E-05",
  "E-06",
  "E-07",
  "E-08",
  "E-09",
  "E-15",
  "E-16",
  "E-17",
  "E-18",
  "E-20",
  "E-21",
  "E-22",
  "E-23",
  "F-06",
  "F-12",
  "H-01",
  "H-02",
  "H-03",
  "H-04",
  "H-05",
  "O-01",
  "O-02",
  "O-03",
  "O-04",
  "O-05",
  "O-06",
  "O-07",
  "O-08",
  "V-01",
  "V-02",
  "V-03",
  "V-04",
  "V-05",
  "V-06",
  "V-07",
  "V-08",
  "W-16",
  "W-17",
  "W-18",
  "W-19",
  "X-02",
  "X-04",
  "X-05",
  "X-06",
  "X-07",
  "X-08",
];
