// Fields of the original interface that are stored but have no effect: manifests written for it apply unchanged.
// docs/reference/limits-of-this-release.md lists them.

import { s } from "@postern/apimachinery/schema/builder";

const WITHOUT_EFFECT = "Stored, but has no effect.";

/** An object whose members the original interface defines. */
export const ignoredObject = (what: string) => s.anyObject().describe(`${what} ${WITHOUT_EFFECT}`);
/** A list of such objects. */
export const ignoredObjects = (what: string) => s.list(s.anyObject()).describe(`${what} ${WITHOUT_EFFECT}`);
export const ignoredString = (what: string) => s.string().describe(`${what} ${WITHOUT_EFFECT}`);
export const ignoredStrings = (what: string) => s.list(s.string()).describe(`${what} ${WITHOUT_EFFECT}`);
export const ignoredBoolean = (what: string) => s.boolean().describe(`${what} ${WITHOUT_EFFECT}`);
export const ignoredInteger = (what: string) => s.int64().describe(`${what} ${WITHOUT_EFFECT}`);
/** A map from names to texts. */
export const ignoredStringMap = (what: string) => s.map(s.string()).describe(`${what} ${WITHOUT_EFFECT}`);

const namedFields = s.object({ name: s.string().describe("Name of the object.") });
/** A list of names. */
export const ignoredNames = (what: string) => s.list(namedFields).describe(`${what} ${WITHOUT_EFFECT}`);

const secretRefFields = s.object({
  secretName: s.string().describe("Name of the Secret."),
  secretNamespace: s.string().describe("Namespace of the Secret."),
  key: s.string().describe("The key in the Secret's data."),
});
/** A reference to a Secret: never its content. */
export const ignoredSecretRef = (what: string) => secretRefFields.describe(`${what} ${WITHOUT_EFFECT}`);

const metadataFields = s.object({
  labels: s.map(s.string()).describe("Labels."),
  annotations: s.map(s.string()).describe("Annotations."),
});
/** Labels and annotations for another object. */
export const ignoredMetadata = (what: string) =>
  s.object({ metadata: metadataFields.describe("Labels and annotations.") }).describe(`${what} ${WITHOUT_EFFECT}`);

/** Ignored fields that templates of virtual clusters, spaces and namespaces share. */
export const ignoredInstallations = {
  apps: ignoredObjects("Apps to install."),
  charts: ignoredObjects("Helm charts to install. Put passwords into Secrets: this field is readable."),
};
