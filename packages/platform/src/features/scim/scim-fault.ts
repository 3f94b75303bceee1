// An error of SCIM, with its HTTP status and the keyword that directories read.
// Source: RFC 7644 section 3.12

export type ScimErrorType =
  | ""
  | "invalidFilter"
  | "invalidPath"
  | "invalidSyntax"
  | "invalidValue"
  | "noTarget"
  | "tooMany"
  | "uniqueness";

export class ScimFault extends Error {
  override readonly name = "ScimFault";
  readonly status: number;
  readonly scimType: ScimErrorType;

  constructor(status: number, message: string, scimType: ScimErrorType = "") {
    super(message);
    this.status = status;
    this.scimType = scimType;
  }
}
