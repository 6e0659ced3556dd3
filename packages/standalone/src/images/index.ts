export type { Image } from "./image-cache.ts";
export { imageVariables, programOf } from "./image-config.ts";
export { type ImageUser, imageUser } from "./image-user.ts";
export { ImageNeverPull, Images, type PullPolicy, type RegistryAuths } from "./images.ts";
export { InvalidImageName } from "./reference.ts";
