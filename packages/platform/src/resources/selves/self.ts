// The fields of a question about oneself, and of its answer.

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";

const named = {
  name: s.string().describe("Name of the object."),
  displayName: s.string().describe("Name for people."),
};

const WITHOUT_EFFECT = "Of the original interface. This server leaves it out of its answers.";
/** Of somebody: users have values in some of them. */
const entity = {
  ...named,
  icon: s.string().describe(WITHOUT_EFFECT),
  username: s.string().describe("Name that the user logs in with."),
  email: s.string().describe("E-mail address of the user."),
  subject: s.string().describe("The user name of the user's requests."),
};

const fields = s
  .object({
    spec: s
      .object({
        accessKey: s
          .string()
          .describe("Another access key to ask about. Only for who looks after a cluster, or may do so by RBAC."),
      })
      .describe("What is asked."),
    status: s
      .object({
        user: s
          .object({
            ...entity,
            teams: s.list(s.object(entity)).describe("The teams that the user is in."),
          })
          .describe("The user, where it is one."),
        team: s.object(entity).describe("The team, where the key speaks for one."),
        accessKey: s.string().describe("Name of the access key."),
        accessKeyScope: s
          .anyObject()
          .describe("What the access key is narrowed to, as its spec.scope says it. Absent: nothing."),
        accessKeyExpirationTimestamp: s
          .timestamp()
          .describe("When the access key stops working if nothing changes. Absent: it has no end of its own."),
        accessKeyType: s.string().describe("Who looks after the access key, as its spec.type says it."),
        subject: s.string().describe("The user name of requests."),
        uid: s.string().describe("The uid that goes with the user name."),
        groups: s.list(s.string()).describe("The groups of requests."),
        platformHost: s.string().describe("Host name and port that the request came to."),
        projectNamespacePrefix: s.string().describe("What the namespace of a project begins with."),
        instanceID: s.string().describe(WITHOUT_EFFECT),
        chatAuthToken: s.string().describe(WITHOUT_EFFECT),
      })
      .describe("The answer. Filled in by the server."),
  })
  .describe("Asks who the server takes the caller for, or who an access key is.");

export type Self = KindOf<typeof fields>;

/** The host under which existing clients look for the server has the platform's name: `loft` → `loftHost`. */
export const hostField = (platformName: string): string =>
  `${platformName.replaceAll(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())}Host`;

export function selfSchema(platformName: string): StructuralSchema {
  const schema = kindSchema(fields.schema);
  const status = schema.properties?.["status"] ?? {};
  const { platformHost, ...others } = status.properties ?? {};
  const properties = { ...others, ...(platformHost && { [hostField(platformName)]: platformHost }) };
  return { ...schema, properties: { ...schema.properties, status: { ...status, properties } } };
}
