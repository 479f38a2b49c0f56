// A beam along x, clamped at x = 0: gmsh -3 cantilever.geo (Gmsh 4.15). `layers`: cells over the height.
DefineConstant[ layers = {8, Name "layers"} ];
L = 0.4; b = 0.05; h = 0.1;
SetFactory("OpenCASCADE");
Box(1) = {0, -b/2, -h/2, L, b, h};
MeshSize{ PointsOf{ Volume{1}; } } = h / layers;
Mesh.MshFileVersion = 4.1;
Mesh.Algorithm3D = 10;
Physical Volume("beam") = {1};
Physical Surface("wall") = {1};
Physical Surface("tip") = {2};
