// oidc-provider brings no types along: what the tests use of it.

declare module "oidc-provider" {
  import type { RequestListener } from "node:http";

  // biome-ignore lint/style/noDefaultExport: that is how the package exports it.
  export default class Provider {
    constructor(issuer: string, configuration: object);
    proxy: boolean;
    callback(): RequestListener;
    on(event: string, listener: (...args: readonly any[]) => void): this;
    readonly Client: any;
    readonly Grant: any;
    readonly Session: any;
    readonly RefreshToken: any;
  }
}
