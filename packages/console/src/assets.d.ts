// What the build makes of imports that are no code.

declare module "*.css";
declare module "*.svg" {
  export const address: string;
  // biome-ignore lint/style/noDefaultExport: the build gives addresses of files so
  export default address;
}
