within Parts.Thermal;
package Examples "Conduction and radiation"
end Examples;
