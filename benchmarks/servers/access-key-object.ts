// The objects that scenarios read and write: access keys of about 1.2 kB as they are served.

export const GROUP = "management.postern";
export const COLLECTION = `/apis/${GROUP}/v1/ownedaccesskeys`;
export const OBJECT_BYTES = 1_200;

/** The number of objects with the same value of the label `team`. */
export const TEAMS = 100;

/** The body of a request that creates an access key; `{n}` is its number. */
export const accessKeyBody = (team = "{n}"): string =>
  JSON.stringify({
    apiVersion: `${GROUP}/v1`,
    kind: "OwnedAccessKey",
    metadata: { name: "key-{n}", labels: { team: `team-${team}` } },
    spec: {
      displayName: "A key of the benchmark",
      description: "x".repeat(400),
      ttl: 86_400,
    },
  });
