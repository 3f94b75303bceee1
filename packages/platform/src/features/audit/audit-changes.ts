// Which requests of the audit log change something, and which only ask.

/** Verbs of resources, and the methods of other requests. */
const CHANGES: ReadonlySet<string> = new Set([
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
  "post",
  "put",
]);
/** Groups whose objects are questions, and what programs write over and over. */
const QUESTIONS: ReadonlySet<string> = new Set([
  "authorization.k8s.io",
  "authentication.k8s.io",
  "coordination.k8s.io",
]);
/** Resources and subresources that are created to ask something, or to tell what happened. */
const ASKED: ReadonlySet<string> = new Set(["selves", "ownaccessreviews", "events", "explain", "test"]);

const NEEDLES = [...CHANGES].map((verb) => Buffer.from(`"verb":"${verb}"`));

/** False for lines that are no changes for certain: they are not decoded. */
export const mayBeChange = (line: Buffer): boolean => NEEDLES.some((needle) => line.includes(needle));

export function isChange(event: {
  readonly verb?: string;
  readonly requestURI?: string;
  readonly objectRef?: { readonly [member: string]: string };
}): boolean {
  const { verb = "", requestURI = "", objectRef = {} } = event;
  if (!CHANGES.has(verb)) return false;
  const { apiGroup = "", resource = "", subresource = "" } = objectRef;
  if (QUESTIONS.has(apiGroup) || ASKED.has(resource) || ASKED.has(subresource)) return false;
  return !/[?&]dryRun=/.test(requestURI);
}
