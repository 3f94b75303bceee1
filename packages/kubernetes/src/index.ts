// The stable surface of the library. Everything else in this package may change with any release.

export * from "@postern/apiserver";
export { type ApiServer, type ApiServerOptions, createApiServer } from "./server/create-api-server.ts";
