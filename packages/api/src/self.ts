// The fields of a question about oneself, and of its answer.

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";

const named = {
  name: s.string().describe("Name of the object."),
  displayName: s.string().describe("Display name."),
};

const WITHOUT_EFFECT = "For compatibility. Not returned by this server.";
/** Fields of a user; only some have values. */
const entity = {
  ...named,
  icon: s.string().describe(WITHOUT_EFFECT),
  username: s.string().describe("Username of the user."),
  email: s.string().describe("E-mail address of the user."),
  subject: s.string().describe("User name for requests of the user."),
};

const fields = s
  .object({
    spec: s
      .object({
        accessKey: s.string().describe("Another access key to look up. Requires permission for that."),
      })
      .describe("The request."),
    status: s
      .object({
        user: s
          .object({
            ...entity,
            teams: s.list(s.object(entity)).describe("Teams of the user."),
          })
          .describe("The user, if the caller is one."),
        team: s.object(entity).describe("The team, if the access key belongs to one."),
        accessKey: s.string().describe("Name of the access key."),
        accessKeyScope: s.anyObject().describe("spec.scope of the access key. Unset if it has no scope."),
        accessKeyExpirationTimestamp: s.timestamp().describe("When the access key expires. Unset if it never expires."),
        accessKeyType: s.string().describe("spec.type of the access key."),
        subject: s.string().describe("User name for requests."),
        uid: s.string().describe("UID for requests."),
        groups: s.list(s.string()).describe("Groups for requests."),
        platformHost: s.string().describe("Host and port of the platform, as in the request."),
        projectNamespacePrefix: s.string().describe("Prefix of project namespaces."),
        instanceID: s.string().describe(WITHOUT_EFFECT),
        chatAuthToken: s.string().describe(WITHOUT_EFFECT),
      })
      .describe("The answer. Set by the server."),
  })
  .describe("Returns who you are, or whom an access key authenticates as.");

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
